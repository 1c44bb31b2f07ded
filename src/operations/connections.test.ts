import {EventEmitter} from 'node:events';
import type {Server, Socket} from 'node:net';
import {expect, test} from 'vitest';
import {type ConnectionLimits, Connections, networkOf} from './connections.ts';

/** The parts of a socket that Connections needs. */
class FakeSocket extends EventEmitter {
  readonly name: string;
  readonly remoteAddress: string;

  constructor(name: string) {
    super();
    this.name = name;
    this.remoteAddress = `10.0.0.${name.charCodeAt(0)}`;
  }

  destroy(): void {
    this.emit('destroyed');
    this.emit('close');
  }
}

/** The name of a connection is a letter for its address and a number. */
function world(limits: Partial<ConnectionLimits>) {
  const connections = new Connections({total: 100, perAddress: 100, dropsBusy: false, ...limits});
  const server = new EventEmitter();
  connections.watch(server as Server);
  const dropped: string[] = [];
  const open = new Map<string, FakeSocket>();
  return {
    connections,
    dropped,
    connect: (...names: string[]) => {
      for (const name of names) {
        const socket = new FakeSocket(name);
        open.set(name, socket);
        socket.once('destroyed', () => dropped.push(name));
        server.emit('connection', socket);
      }
    },
    begin: (name: string) => connections.begin(open.get(name) as unknown as Socket),
    end: (name: string) => connections.end(open.get(name) as unknown as Socket),
  };
}

test('beyond the total limit, closes the longest-idle connection of the address with the most', () => {
  const {connect, dropped, connections} = world({total: 4});
  connect('a1', 'b1', 'b2', 'b3', 'c1', 'c2');
  expect(dropped).toEqual(['b1', 'b2']);
  expect(connections.size).toBe(4);
});

test('beyond the limit of an address, closes the longest-idle connection of that address', () => {
  const {connect, dropped} = world({perAddress: 2});
  connect('a1', 'b1', 'b2', 'b3', 'a2');
  expect(dropped).toEqual(['b1']);
});

test('a connection is idle after its last response, but not while a request is waiting for one', () => {
  const {connect, begin, end, dropped} = world({total: 3});
  connect('a1', 'a2', 'a3');
  expect([begin('a1'), begin('a1'), begin('a2')]).toEqual([1, 2, 1]);
  connect('a4');
  expect(dropped).toEqual(['a3']);
  end('a1');
  end('a2');
  end('a1');
  connect('a5', 'a6', 'a7');
  expect(dropped).toEqual(['a3', 'a4', 'a2', 'a1']);
});

test('if all are busy, refuses the new connection or, if requests are quick, closes the oldest', () => {
  for (const [dropsBusy, goes] of [
    [false, 'a3'],
    [true, 'a1'],
  ] as const) {
    const {connect, begin, dropped} = world({total: 2, dropsBusy});
    connect('a1', 'a2');
    begin('a1');
    begin('a2');
    connect('a3');
    expect(dropped).toEqual([goes]);
  }
});

// attack: blocked-probes
test('4,096 connections from one address leave room for any other', () => {
  const {connect, dropped, connections} = world({total: 64});
  connect('v1');
  connect(...Array.from({length: 4096}, (_, n) => `a${n}`));
  connect('w1');
  expect(dropped.every(name => name.startsWith('a'))).toBe(true);
  expect(connections.size).toBe(64);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:0db8:1:2::6', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['', ''],
])('%s belongs to %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
