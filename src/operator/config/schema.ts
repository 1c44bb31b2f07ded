/**
 * JSON schema (draft 7) of the operator's configuration file: the single source of its defaults, limits, and
 * descriptions. Each `pattern` comes with a `title` that describes what is allowed, and with `examples`: error messages
 * use both.
 */
import {choice, DAY_SECONDS, diagnostics, integer, object, type Schema, section} from '../../config/config-schema.ts';
import {certificates} from './certificates.ts';
import {checkOperatorConfig} from './contradictions.ts';
import {controller} from './controller.ts';
import {dns} from './dns.ts';
import {probes, routing} from './edge.ts';
import {formats, seconds} from './formats.ts';
import {plans, platform} from './platform.ts';

export const operatorConfigSchema: Schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...object("Configuration of Nameplate's operator.", {
    platform,
    defaultHost: section('The default host of every project.', {
      tls: choice(
        ['ingress-default', 'certificate'],
        'ingress-default',
        "ingress-default uses the ingress controller's default certificate, or that of the Gateway's listener: a wildcard for *.baseDomain. certificate requests one certificate per project.",
      ),
    }),
    plans,
    defaultPlan: {
      type: 'string',
      default: 'free',
      description: 'The plan of a namespace whose label is missing, or names a plan that does not exist.',
    },
    certificates,
    routing,
    dns,
    probes,
    claims: section('Which account holds a host or a key.', {
      lingerSeconds: seconds(
        DAY_SECONDS,
        0,
        'Minimum time for which Nameplate keeps the record of a released host or key. The record of a host blocks nobody; it remembers failed certificate attempts, and orders for as long as they count. Without either, it is kept for ten minutes at most. The record of a key prevents other accounts from taking the key.',
      ),
    }),
    admission: section("The chart's admission policies, as installed.", {
      notEnforced: {
        type: 'array',
        items: {type: 'string', title: 'the name of a policy', examples: ['routes']},
        default: [],
        description:
          'Policies that are off or only audit. The chart fills this in from admission.*; the operator reports it.',
      },
    }),
    controller,
    server: section('The server for /healthz, /readyz, and /metrics.', {
      port: integer(8080, [0, 65_535], 'Port to listen on. 0 means any free port.'),
    }),
    metrics: section('What /metrics shows.', {
      perDomain: {
        type: 'boolean',
        default: false,
        description:
          'State, reason, and expiry of the certificate for each Domain, in addition to totals: two time series per Domain.',
      },
    }),
    diagnostics,
    log: section('Logs are written to standard output as JSON lines.', {
      level: choice(['trace', 'debug', 'info', 'warn', 'error'], 'info', 'The lowest level that is logged.'),
    }),
  }),
};

/** The definition with which `loadConfig` of src/process reads the operator's configuration. */
export const operatorConfigDefinition = {schema: operatorConfigSchema, formats, check: checkOperatorConfig};
