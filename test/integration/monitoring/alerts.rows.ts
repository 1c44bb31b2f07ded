/**
 * When each alert of the chart fires. `1x30` is 31 values, one per minute. The expression's other series stay
 * unchanged.
 */

export interface AlertRow {
  readonly alert: string;
  /** The metric that changes, and the labels of its changing series. */
  readonly metric: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly values: string;
  /** Minutes at which the alert fires, and at which it does not. */
  readonly fires: readonly number[];
  readonly rests: readonly number[];
}

const condition = (type: string, reason: string) => ({condition: type, reason});

export const alertRows: readonly AlertRow[] = [
  {
    alert: 'NameplateNoLeader',
    metric: 'leader_election_master_status',
    values: '1x30 0x10 1x20',
    fires: [36, 40],
    rests: [30, 35, 42],
  },
  {
    alert: 'NameplateNoLeader', // nothing is scraped anymore
    metric: 'nameplate_promises_held',
    values: '1x30 stale _x20',
    fires: [36],
    rests: [30],
  },
  {
    alert: 'NameplateForeignApprover',
    metric: 'nameplate_foreign_approvals_total',
    values: '0x30 1x120',
    fires: [32, 80],
    rests: [30, 100],
  },
  {
    alert: 'NameplatePromisesBroken',
    metric: 'nameplate_promises_held',
    values: '1x30 0x20 1x20',
    fires: [46, 50],
    rests: [30, 45, 52],
  },
  {
    alert: 'NameplateReconcilesFailing',
    metric: 'controller_failing_keys',
    labels: {controller: 'domain', kind: 'outage'},
    values: '0x30 2x10 0x20',
    fires: [31, 40],
    rests: [30, 42],
  },
  {
    alert: 'NameplateCacheStale',
    metric: 'reflector_cache_stale_seconds',
    labels: {resource: 'domains.nameplate.dev'},
    values: '120x30 181+60x10 0x20',
    fires: [36, 41],
    rests: [30, 35, 43],
  },
  {
    alert: 'NameplateCertManagerDown',
    metric: 'nameplate_dependency_up',
    labels: {dependency: 'cert-manager'},
    values: '1x30 0x10 1x20',
    fires: [33, 40],
    rests: [30, 32, 42],
  },
  {
    alert: 'NameplateIssuerNotReady',
    metric: 'nameplate_dependency_up',
    labels: {dependency: 'issuer'},
    values: '1x30 0x10 1x20',
    fires: [35, 40],
    rests: [30, 34, 42],
  },
  {
    alert: 'NameplateCertificatesExpired',
    metric: 'nameplate_certificates',
    labels: {state: 'expired', renewable: 'true'},
    values: '0x30 1x10 0x20',
    fires: [31, 40],
    rests: [30, 42],
  },
  {
    alert: 'NameplateCertificatesExpiring',
    metric: 'nameplate_certificates',
    labels: {state: 'expiring', renewable: 'true'},
    values: '0x30 1x10 0x20',
    fires: [31, 40],
    rests: [30, 42],
  },
  {
    alert: 'NameplateRenewalOverdue',
    metric: 'nameplate_certificates',
    labels: {state: 'overdue', renewable: 'true'},
    values: '0x30 2x10 0x20',
    fires: [36, 40],
    rests: [30, 35, 42],
  },
  {
    alert: 'NameplateRenewalFailing',
    metric: 'nameplate_domain_conditions',
    labels: condition('CertificateReady', 'RenewalFailing'),
    values: '0x30 2x70 0x20',
    fires: [91, 100],
    rests: [30, 90, 102],
  },
  {
    alert: 'NameplateCertificatesOverdue',
    metric: 'nameplate_domain_conditions',
    labels: condition('CertificateReady', 'Overdue'),
    values: '0x30 1x20 0x20',
    fires: [46, 50],
    rests: [30, 45, 52],
  },
  {
    alert: 'NameplateDomainsDegraded',
    metric: 'nameplate_domains',
    labels: {state: 'Degraded'},
    // In the world of the test, one host has drifted.
    values: '1x30 2x40 1x20',
    fires: [61, 70],
    rests: [30, 60, 72],
  },
  {
    alert: 'NameplateDomainsDrifted',
    metric: 'nameplate_domain_conditions',
    labels: condition('DNSVerified', 'Drifted'),
    values: '0x30 1x70 0x20',
    fires: [91, 100],
    rests: [30, 90, 102],
  },
  {
    alert: 'NameplateOrderBudgetLow',
    metric: 'nameplate_certificate_orders_left',
    labels: {kind: 'new'},
    values: '100x30 29x20 31x20',
    fires: [41, 50],
    rests: [30, 40, 52],
  },
  {
    alert: 'NameplateRenewalsExceedBudget',
    metric: 'nameplate_certificate_renewals_ratio',
    values: '0.7x30 0.9x80 0.7x20',
    fires: [95, 105],
    rests: [30, 85, 112],
  },
  {
    alert: 'NameplateEdgeUnreachable',
    metric: 'nameplate_edge_reachable',
    values: '1x30 0x10 1x20',
    fires: [35, 40],
    rests: [30, 34, 42],
  },
  {
    alert: 'NameplateEdgeUnusable',
    metric: 'nameplate_edge_usable',
    values: '1x30 0x10 1x20',
    fires: [36, 40],
    rests: [30, 35, 42],
  },
  {
    alert: 'NameplateHostsNotServed',
    metric: 'nameplate_domain_conditions',
    labels: condition('Probed', 'WrongRoute'),
    values: '0x30 1x20 0x20',
    fires: [41, 50],
    rests: [30, 40, 52],
  },
  {
    alert: 'NameplatePaused',
    metric: 'nameplate_paused',
    labels: {kind: 'All'},
    values: '0x30 1x70 0x20',
    fires: [91, 100],
    rests: [30, 90, 102],
  },
  {
    alert: 'NameplateObjectsPaused',
    metric: 'nameplate_paused',
    labels: {kind: 'Namespace'},
    values: '0x30 2x1450 0x20',
    fires: [1471, 1480],
    rests: [30, 1470, 1483],
  },
  {
    alert: 'NameplateMessagesStoreDown',
    metric: 'nameplate_messages_store_state',
    labels: {state: 'down'},
    values: '0x30 1x10 0x20',
    fires: [36, 40],
    rests: [30, 35, 42],
  },
  {
    alert: 'NameplateMessagesStoreFull',
    metric: 'nameplate_messages_store_state',
    labels: {state: 'full'},
    values: '0x30 1x10 0x20',
    fires: [36, 40],
    rests: [30, 35, 42],
  },
  {
    alert: 'NameplateMessagesQueueOld',
    metric: 'nameplate_messages_oldest_age_seconds',
    values: '3599x30 3601x20 0x20',
    fires: [41, 50],
    rests: [30, 40, 52],
  },
  {
    alert: 'NameplateMessagesQueueUnknown',
    metric: 'nameplate_messages_backlog',
    values: '1x30 stale _x20',
    fires: [42, 50],
    rests: [30, 39],
  },
  {
    alert: 'NameplateMessagesQueueUnknown',
    metric: 'nameplate_messages_oldest_age_seconds',
    values: '1x30 stale _x20',
    fires: [42, 50],
    rests: [30, 39],
  },
  {
    alert: 'NameplateMessagesDeadRows',
    metric: 'nameplate_messages_store_rows',
    labels: {state: 'dead'},
    values: '100000x30 110000x40 0x20',
    fires: [61, 70],
    rests: [30, 60, 73],
  },
];
