/**
 * An address on which every TCP port answers, apart from that of DNS. Attackers enter it wherever an object or a record
 * takes an address, and no program of the platform may ever connect to it.
 */
import {type AddressInfo, createServer} from 'node:net';
import {run} from '../../cluster/children.ts';

export interface Trap {
  readonly address: string;
  stop(): Promise<void>;
}

/** Free in the cluster's network. */
const ADDRESS = '172.30.0.99';

/** `onContact`: called with the address of each client. */
export async function setTrap(onContact: (source: string) => void): Promise<Trap> {
  const server = createServer(socket => {
    onContact((socket.remoteAddress ?? '').replace(/^::ffff:/, ''));
    socket.on('error', () => undefined).destroy();
  });
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve));
  const {port} = server.address() as AddressInfo;
  const redirect = ['PREROUTING', '-d', ADDRESS, '-p', 'tcp', '!', '--dport', '53', '-j', 'REDIRECT'];
  const rule = ['-t', 'nat', '--wait'];
  const toServer = [...redirect, '--to-ports', `${port}`];
  await run(['ip', 'address', 'replace', `${ADDRESS}/32`, 'dev', 'lo']);
  await run(['iptables', ...rule, '-I', ...toServer]);
  return {
    address: ADDRESS,
    stop: async () => {
      await run(['iptables', ...rule, '-D', ...toServer]);
      await run(['ip', 'address', 'del', `${ADDRESS}/32`, 'dev', 'lo']);
      await new Promise(resolve => server.close(resolve));
    },
  };
}
