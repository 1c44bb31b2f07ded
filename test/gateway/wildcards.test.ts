/** Wildcards on Envoy Gateway. Visitors of other hosts must not reach them, whatever connection a browser uses. */
import {once} from 'node:events';
import {readFile} from 'node:fs/promises';
import type {IncomingMessage} from 'node:http';
import {connect as connectHttp2} from 'node:http2';
import {request} from 'node:https';
import {text} from 'node:stream/consumers';
import {describe, expect, it} from 'vitest';
import {servingWildcards} from '../e2e/wildcards.suite.ts';
import {cluster, newClusterTenant, visitor} from '../e2e/world.ts';

const edge = {
  host: cluster.info.ingress.address,
  port: 443,
  ca: await readFile(cluster.info.roots, 'utf8'),
  rejectUnauthorized: false,
};

/** The status, and the name of the Service that answered, on a connection of its own. */
async function overHttp1(authority: string, servername = authority): Promise<string> {
  const sent = request({...edge, servername, headers: {host: authority}, agent: false}).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return shown(response.statusCode, await text(response));
}

/** Requests each authority on one HTTP/2 connection, as a browser does if the certificate covers it. */
async function overHttp2(servername: string, authorities: readonly string[]): Promise<string[]> {
  const session = connectHttp2(`https://${edge.host}`, {...edge, servername});
  session.on('error', () => undefined); // each request reports it
  const answers: string[] = [];
  for (const authority of authorities) {
    const sent = session.request({':authority': authority, ':path': '/'});
    const [headers] = await once(sent, 'response');
    answers.push(shown(headers[':status'], await text(sent)));
  }
  session.close();
  return answers;
}

function shown(status: unknown, body: string): string {
  return `${status} ${/\btext=(\S+)/.exec(body)?.[1] ?? 'nobody'}`;
}

describe.concurrent('wildcards', () => {
  servingWildcards();

  // attack: wildcard-over-host
  it('has no connection over which a browser could reach it instead of the host of another account', async () => {
    const [holder, other] = await Promise.all([newClusterTenant('wild'), newClusterTenant('below')]);
    await other.deploy('other');
    const [wildcard, below] = [holder.host('*'), holder.host('b')];
    const [earlier, later] = [holder.host('earlier'), holder.host('later')];
    await other.goLive({primary: earlier}, {service: 'other'});
    await holder.applyProject({aliases: [wildcard]});
    await holder.createRecords(wildcard);
    await holder.sees(wildcard, {state: 'Live'});
    await other.goLive({primary: earlier, aliases: [later]}, {service: 'other'});
    await visitor.untilAnswer(`https://${later}/`, ({body}) => body.includes('text=other'));

    expect(await visitor.protocolOf(below)).toBe('http/1.1');
    for (const specific of [earlier, later]) {
      expect(await visitor.protocolOf(specific)).toBe('h2');
      expect(await overHttp2(specific, [specific, below])).toEqual(['200 other', '404 nobody']);
    }
    for (const host of [below, below.toUpperCase(), `${below}:443`, holder.host('wc--any')]) {
      expect(await overHttp1(host, below), host).toBe('200 web');
    }
    const deeper = `x.${below}`;
    expect([await overHttp1(deeper), await overHttp1(deeper, below)]).toEqual(['404 nobody', '404 nobody']);
    await expect(overHttp1(holder.zone)).rejects.toThrow(); // no listener has this name
  });
});
