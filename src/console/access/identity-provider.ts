/** Sign-in at the identity provider: OpenID Connect, code flow with PKCE. */
import {rootCertificates} from 'node:tls';
import * as oidc from 'openid-client';
import {Agent, fetch as undiciFetch} from 'undici';
import type {ConsoleConfig} from '../generated/config.ts';
import {isName} from '../projects/names.ts';
import type {LoginSecrets} from './login-ticket.ts';
import type {SignedIn} from './user-client.ts';

interface ProviderOptions {
  readonly config: ConsoleConfig['oidc'];
  /** The console's own address. */
  readonly url: string;
  readonly clientSecret: string | undefined;
  /** PEM. */
  readonly ca: string | undefined;
}

export interface IdentityProvider {
  /** Where the user signs in. */
  loginUrl(secrets: LoginSecrets, state: string): Promise<string>;
  /** `query`: of the address to which the provider has sent the user. Rejects if it is not the answer to this login. */
  complete(query: string, secrets: LoginSecrets, state: string): Promise<SignedIn>;
  /** Where the user signs out of the provider. Undefined: it cannot. */
  readonly logoutUrl: string | undefined;
}

const TIMEOUT_SECONDS = 10;
/** What is shown of a name that the provider chooses. */
const MAX_NAME = 100;
const MAX_NAMESPACES = 50;

/** Reads the provider's metadata. Rejects if the provider does not answer, or cannot do what the console needs. */
export async function connectProvider({config, url, clientSecret, ca}: ProviderOptions): Promise<IdentityProvider> {
  const {issuer, clientId, scopes, namespacesClaim} = config;
  const dispatcher = new Agent(ca === undefined ? {} : {connect: {ca: [...rootCertificates, ca]}});
  // The types of undici's fetch are its own, but the functions agree.
  const customFetch = ((input: string, init: object) =>
    undiciFetch(input, {...init, dispatcher})) as unknown as oidc.CustomFetch;
  const authentication = clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret);
  const client = await oidc.discovery(new URL(issuer), clientId, {}, authentication, {
    timeout: TIMEOUT_SECONDS,
    [oidc.customFetch]: customFetch,
  });
  if (!client.serverMetadata().supportsPKCE('S256')) {
    throw new Error(`${issuer} does not support PKCE with S256 (code_challenge_methods_supported)`);
  }
  const redirectUri = `${url}/callback`;
  return {
    loginUrl: async ({nonce, verifier}, state) => {
      const challenge = await oidc.calculatePKCECodeChallenge(verifier);
      return oidc.buildAuthorizationUrl(client, {
        redirect_uri: redirectUri,
        scope: scopes.join(' '),
        state,
        nonce,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      }).href;
    },
    complete: async (query, {nonce, verifier}, state) => {
      const tokens = await oidc.authorizationCodeGrant(client, new URL(`${redirectUri}${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
      });
      const claims = tokens.claims();
      if (tokens.id_token === undefined || claims === undefined) throw new Error(`${issuer} returned no ID token`);
      return signedInOf(tokens.id_token, claims, namespacesClaim);
    },
    // Without id_token_hint: a token must not be in a URL.
    logoutUrl:
      client.serverMetadata().end_session_endpoint === undefined
        ? undefined
        : oidc.buildEndSessionUrl(client, {client_id: clientId, post_logout_redirect_uri: `${url}/signed-out`}).href,
  };
}

function signedInOf(idToken: string, claims: oidc.IDToken, namespacesClaim: string): SignedIn {
  const listed = namespacesClaim === '' ? [] : claims[namespacesClaim];
  const names = [claims.name, claims.preferred_username, claims.email, claims.sub];
  const name = names.find((each): each is string => typeof each === 'string' && each !== '') ?? '';
  return {
    idToken,
    user: `${claims.iss} ${claims.sub}`,
    name: name.slice(0, MAX_NAME),
    expiresAtMs: claims.exp * 1000,
    namespaces: (Array.isArray(listed) ? listed : [])
      .filter((each): each is string => typeof each === 'string' && isName(each))
      .slice(0, MAX_NAMESPACES),
  };
}
