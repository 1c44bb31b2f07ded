/** The main job as a person would do it, step by step; runs inside the cluster. Exits with 1 where an answer is wrong. */
import {connect} from '../cluster/cluster.ts';
import {createVisitor} from '../support/http.ts';
import {apiWrites, writesBetween} from './api-writes.ts';
import {diagnose} from './diagnose.ts';
import {apex, description, neighbour, removal, removalFromProject} from './ending.ts';
import {type Figures, formatFigures} from './figures.ts';
import {addressInTheWay, https, recordRight, redirectCodes, redirects, showRecord, wrongValue} from './first-domain.ts';
import {installMessages, messageProcessed} from './messages.ts';
import {defaultHost, freePlan, install, notDeployed} from './platform.ts';
import {print, Terminal} from './terminal.ts';
import {brokenCertificate, forbiddenByCaa, heldHost, movedHost} from './trouble.ts';

async function main(): Promise<void> {
  const cluster = await connect();
  const terminal = new Terminal();
  terminal.say(
    'What follows runs in a shell in the cluster’s network (make cluster-shell), whose curl trusts the cluster’s CAs.',
  );

  const {edge} = cluster.info;
  await install(terminal, edge);
  await defaultHost(terminal, edge);
  await freePlan(terminal);
  await notDeployed(terminal);
  const target = await showRecord(terminal);
  await wrongValue(terminal, target);
  await addressInTheWay(terminal);
  const lifetimes = await recordRight(terminal, target);
  await https(terminal);

  await cluster.kubectl('-n', 'acme', 'wait', 'domain/blog.example.com', '--for=condition=Ready', '--timeout=120s');
  terminal.say('From here on https://blog.example.com/ is requested without a pause.');
  const watched = (await createVisitor(cluster.info)).observe('https://blog.example.com/');

  await redirects(terminal, target);
  if (edge === 'gateway') await redirectCodes(terminal, target);
  await forbiddenByCaa(terminal, target);
  await brokenCertificate(terminal);
  await movedHost(terminal, await heldHost(terminal, edge), edge);
  const before = await apiWrites(cluster);
  await apex(terminal, cluster);
  const live = await apiWrites(cluster);
  const removed = await removal(terminal);
  const writes = {toLive: writesBetween(before, live), toRemoved: writesBetween(live, await apiWrites(cluster))};
  await removalFromProject(terminal);
  await installMessages(terminal);
  neighbour(terminal, await watched.stop());
  await description(terminal);
  await messageProcessed(terminal);

  const figures: Figures = {lifetimes, removed, writes, story: terminal.seconds};
  terminal.heading('Figures');
  for (const line of formatFigures(figures)) print(line);
}

try {
  await main();
} catch (error) {
  print(`\n✗ ${(error as Error).message}\n`);
  await diagnose();
  process.exitCode = 1;
}
process.exit(); // the neighbour is still being requested where the story broke off
