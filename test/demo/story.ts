/** The main job as a person would do it, step by step; runs inside the cluster. Exits with 1 if an answer is wrong. */
import {type Cluster, connect} from '../cluster/cluster.ts';
import {createVisitor} from '../support/http.ts';
import {apiWrites, writesBetween} from './api-writes.ts';
import {diagnose} from './diagnose.ts';
import {apex, description, neighbour, removal, removalFromProject} from './ending.ts';
import {type Figures, formatFigures} from './figures.ts';
import {firstDomain, redirectCodes, redirects} from './first-domain.ts';
import {installMessages, messageProcessed} from './messages.ts';
import {defaultHost, freePlan, install, notDeployed} from './platform.ts';
import {renewal} from './renewal.ts';
import {print, Terminal} from './terminal.ts';
import {brokenCertificate, forbiddenByCaa, heldHost, movedHost} from './trouble.ts';
import {wildcard} from './wildcard.ts';

const terminal = new Terminal();

async function main(): Promise<void> {
  const cluster = await connect();
  terminal.say(
    'What follows runs in a shell in the cluster’s network (make cluster-shell), whose curl trusts the cluster’s CAs.',
  );

  const {edge} = cluster.info;
  await install(terminal, edge);
  await defaultHost(terminal, edge);
  await freePlan(terminal);

  const first = terminal.aside(firstDomain);
  const target = await notDeployed(terminal);
  terminal.say('From here on, independent steps run at the same time, and are printed one after another.');
  terminal.say('Once https://blog.example.com/ is live, it is requested continuously.');
  const watched = requestNeighbour(cluster);
  const redirected = terminal.aside(async aside => {
    await redirects(aside, target);
    if (edge === 'gateway') await redirectCodes(aside, target);
  });
  const renewed = terminal.aside(async aside => {
    await redirected.done;
    await renewal(aside);
  });
  const repaired = terminal.aside(async aside => {
    await forbiddenByCaa(aside, target);
    await watched;
    await brokenCertificate(aside);
  });
  const moved = terminal.aside(async aside => {
    await Promise.all([redirected.done, watched]);
    await movedHost(aside, await heldHost(aside, edge), edge);
  });
  const wild = terminal.aside(async aside => {
    await Promise.all([redirected.done, watched]);
    return wildcard(aside, target);
  });
  const installed = terminal.aside(async aside => {
    await watched;
    await installMessages(aside);
  });
  const processed = terminal.aside(async aside => {
    await installed.done;
    await messageProcessed(aside);
  });

  const lifetimes = await first.show();
  await redirected.show();
  await renewed.show();
  await repaired.show();
  await moved.show();
  const compared = await wild.show();
  await processed.done; // from now on, only the commands typed here make the operator write
  const before = await apiWrites(cluster);
  await apex(terminal, cluster);
  const live = await apiWrites(cluster);
  const removed = await removal(terminal);
  const writes = {toLive: writesBetween(before, live), toRemoved: writesBetween(live, await apiWrites(cluster))};
  await removalFromProject(terminal);
  await installed.show();
  neighbour(terminal, await (await watched).stop());
  await description(terminal);
  await processed.show();

  const figures: Figures = {lifetimes, wildcard: compared, removed, writes, story: terminal.seconds};
  terminal.heading('Figures');
  for (const line of formatFigures(figures)) print(line);
}

/** Requests the neighbor continuously once it is live. */
async function requestNeighbour({info, kubectl}: Cluster) {
  await kubectl('-n', 'acme', 'wait', 'domain/blog.example.com', '--for=condition=Ready', '--timeout=120s');
  return (await createVisitor(info)).observe('https://blog.example.com/');
}

try {
  await main();
} catch (error) {
  terminal.releaseAll();
  print(`\n✗ ${(error as Error).message}\n`);
  await diagnose();
  process.exitCode = 1;
}
process.exit(); // if the story broke off, the neighbor is still being requested
