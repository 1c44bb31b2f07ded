/** How the console acts at the API server: always as the user, never with rights of its own. */
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {createKubeClient} from '../../runtime/kube/http-client.ts';
import type {Credentials} from '../../runtime/kube/kubeconfig.ts';

/** What the identity provider has said about a user. The token is in no other object. */
export interface SignedIn {
  readonly idToken: string;
  /** Issuer and subject. */
  readonly user: string;
  /** For people. */
  readonly name: string;
  readonly expiresAtMs: number;
  /** From the configured claim. Nobody has confirmed them. */
  readonly namespaces: readonly string[];
}

/**
 * Makes a client that acts as the user. The only way today is the user's own ID token; a second one would be to
 * impersonate the user, where the API server accepts no identity provider of ours.
 */
export type ActAsUser = (signedIn: SignedIn) => KubeClient;

export interface ApiServerAccess {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  readonly userAgent: string;
  readonly registry: Registry;
  readonly logger: Logger;
}

/** Less than a person waits for a page. */
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Each session has its own client with its own connections, so no mistake in the console can send one user's request
 * with another user's token.
 */
export function actWithToken({url, ca, userAgent, registry, logger}: ApiServerAccess): ActAsUser {
  return ({idToken}) => {
    const credentials: Credentials = {headers: {authorization: `Bearer ${idToken}`}, tls: {ca}};
    return createKubeClient({
      access: {
        server: url,
        proxyUrl: undefined,
        namespace: undefined,
        credentials: async () => credentials,
        refuse: () => {},
      },
      userAgent,
      fieldManager: 'nameplate-console',
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      registry,
      logger,
    });
  };
}
