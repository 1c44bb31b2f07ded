/** An identity provider for tests: a certified OpenID Connect server whose users sign in with a name and any password. */
import {once} from 'node:events';
import {createServer} from 'node:https';
import type {AddressInfo} from 'node:net';
import Provider from 'oidc-provider';

export const CLIENT_ID = 'nameplate-console';
export const CLIENT_SECRET = 'a-secret-of-the-tests';

export interface TestUser {
  readonly groups: readonly string[];
  readonly namespaces?: readonly string[];
}

interface ProviderOptions {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Where it listens, and what its address says. */
  readonly host: string;
  readonly port: number;
  /** The console's address. */
  readonly consoleUrl: string;
  readonly users: Readonly<Record<string, TestUser>>;
  readonly idTokenSeconds: () => number;
}

export interface TestProvider {
  readonly issuer: string;
  stop(): Promise<void>;
}

export async function startIdentityProvider(options: ProviderOptions): Promise<TestProvider> {
  const {cert, key, host, consoleUrl, users, idTokenSeconds} = options;
  const server = createServer({cert, key});
  server.listen(options.port, host);
  await once(server, 'listening');
  const issuer = `https://${host}:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${consoleUrl}/callback`],
        post_logout_redirect_uris: [`${consoleUrl}/signed-out`],
      },
    ],
    claims: {openid: ['sub', 'name', 'groups', 'namespaces']},
    conformIdTokenClaims: false,
    ttl: {IdToken: () => idTokenSeconds(), AccessToken: 600, Session: 3600, Grant: 3600, Interaction: 600},
    findAccount: (_, id) => {
      const user = users[id];
      if (!user) return undefined;
      return {accountId: id, claims: () => ({sub: id, name: id, groups: user.groups, namespaces: user.namespaces})};
    },
    // The tests' own client needs no consent.
    loadExistingGrant: async context => {
      const grant = new context.oidc.provider.Grant({
        clientId: context.oidc.client?.clientId ?? '',
        accountId: context.oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope('openid');
      await grant.save();
      return grant;
    },
  });
  const handle = provider.callback();
  server.on('request', (request, response) => void handle(request, response));
  return {
    issuer,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
