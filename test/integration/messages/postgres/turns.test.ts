import {temporaryFolder} from '../service.ts';
import {turnsSuite} from '../turns.suite.ts';
import {uriFile} from './server.ts';
import {sharedServer} from './shared-server.ts';

const server = sharedServer();
turnsSuite(async () => {
  const uri = server().uri(await server().createDatabase());
  const file = await uriFile(await temporaryFolder(), uri);
  return {kind: 'postgres', postgres: {uriFile: file, tls: 'disable', durability: 'storage'}};
});
