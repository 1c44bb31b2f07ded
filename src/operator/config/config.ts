/** The operator's configuration with every default applied. schema.ts describes each option. */
import type {OperatorConfig} from './generated/config.ts';

export type {OperatorConfig};
export type PlatformConfig = OperatorConfig['platform'];
export type PlanConfig = OperatorConfig['plans'][string];
export type CertificatesConfig = OperatorConfig['certificates'];
export type IssuerRef = CertificatesConfig['issuerRef'];
export type RoutingConfig = OperatorConfig['routing'];
export type OperatorDnsConfig = OperatorConfig['dns'];
export type LeaderElectionConfig = OperatorConfig['controller']['leaderElection'];
