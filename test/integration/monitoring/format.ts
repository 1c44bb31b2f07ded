/** Values as Grafana shows them. */

export function escapeXml(words: string): string {
  const entities: Readonly<Record<string, string>> = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'};
  return words.replace(/[&<>"]/g, each => entities[each] ?? each);
}

/** `unit`: only the Grafana units that our dashboards use are supported. */
export function formatValue(value: number, unit: string): string {
  if (!Number.isFinite(value)) return 'No data';
  if (unit === 'bytes') return `${short(value / 2 ** 20)} MiB`;
  if (unit === 's') return seconds(value);
  const per: Readonly<Record<string, string>> = {ops: ' op/s', reqps: ' req/s'};
  return `${short(value)}${per[unit] ?? ''}`;
}

function seconds(value: number): string {
  if (value === 0) return '0 s';
  if (value >= 172_800) return `${short(value / 86_400)} days`;
  return value < 1 ? `${short(value * 1000)} ms` : `${short(value)} s`;
}

function short(value: number): string {
  return `${Number(value.toPrecision(3))}`;
}
