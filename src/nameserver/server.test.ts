import {createSocket} from 'node:dgram';
import {encode} from 'dns-packet';
import {afterEach, expect, test, vi} from 'vitest';
import {serveDatagrams} from './server.ts';

const ZONE = {domain: 'acme.example.net', nameServers: ['ns1.example.net'], valuesOf: () => []};
const QUERY = encode({type: 'query', id: 1, questions: [{name: ZONE.domain, type: 'NS'}]});

const socket = createSocket('udp4');
afterEach(() => socket.close());

// attack: name-server
test('a datagram that claims to come from port 0 is dropped', () => {
  const observe = vi.fn();
  serveDatagrams(socket, {zone: ZONE, observe}, {judge: () => 'answer'});
  const sender = {address: '127.0.0.1', family: 'IPv4', size: QUERY.length} as const;
  expect(() => socket.send(QUERY, 0, sender.address), 'so Node could not answer it').toThrow('should be > 0');
  socket.emit('message', QUERY, {...sender, port: 0});
  expect(observe).not.toHaveBeenCalled();
  socket.emit('message', QUERY, {...sender, port: 9});
  expect(observe).toHaveBeenCalledWith('udp', 'answer');
});
