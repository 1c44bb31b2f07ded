import {parseConfig} from '../../src/config/load-config.ts';
import type {OperatorConfig} from '../../src/operator/config/config.ts';
import {operatorConfigDefinition} from '../../src/operator/config/schema.ts';

/** A valid configuration of the operator, with all defaults. `more`: further top-level YAML. */
export function operatorConfig(more = ''): OperatorConfig {
  const required = `
platform: {baseDomain: apps.example.net, targetDomain: edge.example.net}
certificates: {issuerRef: {name: letsencrypt}}
`;
  return parseConfig<OperatorConfig>(required + more, 'nameplate.yaml', operatorConfigDefinition);
}
