/** JSON schema (draft 7) of the console's configuration file, with all defaults, limits, and descriptions. */
import {type ConfigProblem, choice, diagnostics, integer, object, section} from '../config/config-schema.ts';
import type {ConfigDefinition} from '../config/load-config.ts';
import type {ConsoleConfig} from './generated/config.ts';

const file = {type: 'string', minLength: 1, title: 'the path of a file'};
const https = {type: 'string', pattern: '^https://[^/?#\\s]+', title: 'a URL that begins with https://'};

export const consoleConfigSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...object(
    'Configuration of the console.',
    {
      url: {
        ...https,
        pattern: '^https://[a-z0-9.-]+(:[0-9]+)?$',
        description: 'The address of the console, as browsers see it: https://HOST, without a path.',
        examples: ['https://console.example.net'],
      },
      oidc: object(
        'The identity provider. The API server must accept its ID tokens for this client.',
        {
          issuer: {...https, description: 'The issuer, as in the ID tokens.', examples: ['https://id.example.net']},
          clientId: {type: 'string', minLength: 1, description: 'The client, which is the audience of the ID tokens.'},
          clientSecretFile: {...file, description: "A file with the client's secret. Absent: a public client."},
          caFile: {
            ...file,
            description: 'Certificates to trust for the identity provider, in PEM, besides the usual ones.',
          },
          scopes: {
            type: 'array',
            items: {type: 'string', minLength: 1},
            default: ['openid'],
            description:
              'The scopes to request, openid among them. Never offline_access: the console keeps no refresh token.',
          },
          namespacesClaim: {
            type: 'string',
            default: '',
            description:
              'A claim of the ID token that lists namespaces of the user. The page offers those in which the user may list Projects. If empty, none.',
          },
        },
        ['issuer', 'clientId'],
      ),
      apiServer: section('The API server.', {
        url: {
          ...https,
          default: 'https://kubernetes.default.svc',
          description: 'Its address.',
        },
        caFile: {
          ...file,
          default: '/etc/nameplate/api-server/ca.crt',
          description: 'Certificates of its authority, in PEM.',
        },
      }),
      help: {
        type: 'string',
        maxLength: 500,
        default: 'your platform team',
        title: 'a text',
        description: 'Whom a user asks who has no namespace or no right, such as an address or a channel.',
      },
      server: section('The server of the pages.', {
        port: integer(8080, [0, 65_535], 'Port to listen on. 0 means any free port.'),
      }),
      operations: section('The server for /healthz, /readyz, and /metrics.', {
        port: integer(8081, [0, 65_535], 'Port to listen on. 0 means any free port.'),
      }),
      sessions: section('Limits on what users hold. Beyond one, the oldest ends.', {
        total: integer(1000, [1, 100_000], 'Sessions in total.'),
        perUser: integer(10, [1, 1000], 'Sessions of one user.'),
        streams: integer(6, [1, 100], 'Open pages of a session that are updated live.'),
        maxSeconds: integer(
          43_200,
          [60, 86_400],
          'The longest time until a session ends. It ends with its ID token if that expires earlier.',
        ),
      }),
      diagnostics,
      log: section('Logs are written to standard output as JSON lines.', {
        level: choice(['trace', 'debug', 'info', 'warn', 'error'], 'info', 'The lowest level that is logged.'),
      }),
    },
    ['url', 'oidc'],
  ),
};

/** The definition with which `loadConfig` in src/process reads the configuration. */
export const consoleConfigDefinition: ConfigDefinition<ConsoleConfig> = {
  schema: consoleConfigSchema,
  check: ({oidc: {scopes}}) => scopeProblems(scopes),
};

function scopeProblems(scopes: readonly string[]): readonly ConfigProblem[] {
  const path = ['oidc', 'scopes'];
  if (!scopes.includes('openid')) return [{path, message: 'lacks openid, without which there is no ID token'}];
  if (scopes.includes('offline_access'))
    return [{path, message: 'has offline_access, but the console keeps no refresh token'}];
  return [];
}
