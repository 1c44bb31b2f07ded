/** YAML that the API server must reject, and the words in its message that say what to write instead. */

export interface CrdRow {
  readonly case: string;
  readonly kind: 'Project' | 'Domain' | 'DomainClaim' | 'APIKey' | 'KeyClaim';
  readonly name?: string;
  /** The spec. Absent: the object has none. */
  readonly spec?: Record<string, unknown>;
  readonly says: readonly string[];
}

const service = {name: 'shop', port: 'http'};
const projectRef = {name: 'shop'};
const scopes = ['messages:write'];
const holder = {account: 'acme', namespace: 'default', name: 'shop', uid: 'u', scopes};
const project = (domains: Record<string, unknown>) => ({service, domains});
const domain = (host: string, more: Record<string, unknown> = {}) => ({host, projectRef, ...more});

/** Invalid hosts, for every field that contains a host. */
const hosts: readonly {readonly case: string; readonly host: string; readonly says: string}[] = [
  {
    case: 'a URL',
    host: 'https://shop.example.com/',
    says: 'must be a bare host name, without scheme, port or path, like shop.example.com',
  },
  {case: 'a port', host: 'shop.example.com:8443', says: 'must be a bare host name, without scheme, port or path'},
  {case: 'a path', host: 'shop.example.com/de', says: 'must be a bare host name, without scheme, port or path'},
  {case: 'an IPv6 address', host: '2001:db8::1', says: 'is an IP address; use a host name'},
  {case: 'an IPv6 address in brackets', host: '[2001:db8::1]', says: 'is an IP address; use a host name'},
  {
    case: 'an asterisk that is no label',
    host: '*shop.example.com',
    says: "has a '*', which may only stand for the first",
  },
  {case: 'an asterisk within', host: 'shop.*.example.com', says: "has a '*', which may only stand for the first label"},
  {case: 'two asterisks', host: '*.*.example.com', says: "has a '*', which may only stand for the first label"},
  {
    case: 'a wildcard of a top-level domain',
    host: '*.example',
    says: "has a '*', which may only stand for the first label",
  },
  {case: 'a wildcard in capitals', host: '*.Example.com', says: 'of a lower-case name'},
  {case: 'a long wildcard', host: `*.${'a.'.repeat(118)}ab`, says: 'of at most 239 characters'},
  {case: 'a trailing dot', host: 'shop.example.com.', says: 'must be written without the trailing dot'},
  {case: 'capitals', host: 'Shop.Example.com', says: "must be lower case: write 'shop.example.com'"},
  {
    case: 'an internationalized name',
    host: 'bücher.example',
    says: "has the character 'ü': it must be in A-label form (xn--...)",
  },
  {
    case: 'another script',
    host: 'shop.例え.example',
    says: "has the character '例': it must be in A-label form (xn--...)",
  },
  {case: 'an IPv4 address', host: '192.0.2.7', says: 'is an IP address; use a host name such as shop.example.com'},
  {
    case: 'a single label',
    host: 'localhost',
    says: 'is a single label; use a full host name such as shop.example.com',
  },
  {case: 'an underscore', host: 'my_shop.example.com', says: "has an underscore in the label 'my_shop'"},
  {case: 'an underscore further up', host: 'shop._x.example.com', says: "has an underscore in the label '_x'"},
  {case: 'a space', host: 'my shop.example.com', says: 'has a space or a line break: remove it'},
  {case: 'a number at its end', host: 'shop.example.123', says: 'is an address; use a host name'},
  {case: 'a comma', host: 'a.example.com,b.example.com', says: "has the character ','"},
  {case: 'a dot at its start', host: '.example.com', says: 'has an empty label'},
  {
    case: 'a label that ends with a dash',
    host: 'shop-.example.com',
    says: "'shop-.': a label neither begins nor ends with '-'",
  },
  {
    case: 'a user name',
    host: 'shop.example.com@evil.example',
    says: "has a '@': write only the host",
  },
  {
    case: 'a placeholder of Traefik',
    host: '$1.evil.example',
    says: "has the character '$': each label is 1 to 63 characters of a-z, 0-9 and '-'",
  },
  {
    case: 'backticks',
    host: '`evil.example`',
    says: "has the character '`': each label is 1 to 63 characters of a-z, 0-9 and '-'",
  },
  {case: 'a line break', host: 'shop.example.com\nevil.example', says: 'failed rule'},
  {case: 'an empty label', host: 'shop..example.com', says: 'has an empty label: remove the dot too many'},
  {
    case: 'a label that begins with a dash',
    host: '-shop.example.com',
    says: "'-shop.': a label neither begins nor ends with '-'",
  },
  {
    case: 'a label of 64 characters',
    host: `${'a'.repeat(64)}.example.com`,
    says: `has a label of more than 63 characters, '${'a'.repeat(64)}'`,
  },
  {
    case: 'a label with hyphens in positions 3 and 4',
    host: 'shop.ab--cd.example.com',
    says: "has the label 'ab--cd', and CAs reject hyphens in positions 3 and 4",
  },
  {
    case: 'a label with hyphens in positions 3 and 4 that is almost an A-label',
    host: 'xm--bcher-kva.example.com',
    says: "has the label 'xm--bcher-kva', and CAs reject",
  },
  {case: 'more than 253 characters', host: `${'a.'.repeat(125)}example`, says: 'may not be more than 253'},
  {case: 'nothing', host: '', says: 'should be at least 1 chars long'},
];

const hostRows = hosts.flatMap(({case: what, host, says}): CrdRow[] => [
  {case: `${what} as primary`, kind: 'Project', spec: project({primary: host}), says: ['spec.domains.primary', says]},
  {
    case: `${what} as alias`,
    kind: 'Project',
    spec: project({aliases: [host]}),
    says: ['spec.domains.aliases[0]', says],
  },
  // attack: bad-redirect
  {
    case: `${what} as redirect`,
    kind: 'Project',
    spec: project({primary: 'ok.example.com', redirects: [{from: host}]}),
    says: ['spec.domains.redirects[0].from', says],
  },
  // attack: bad-redirect
  {
    case: `${what} as target of a redirect`,
    kind: 'Domain',
    name: 'ok.example.com',
    spec: domain('ok.example.com', {redirect: {to: host}}),
    says: ['spec.redirect.to', says],
  },
]);

export const rows: readonly CrdRow[] = [
  ...hostRows,
  {case: 'no spec', kind: 'Project', says: ['spec: Required value']},
  {case: 'no service', kind: 'Project', spec: {}, says: ['spec.service: Required value']},
  {case: 'no port', kind: 'Project', spec: {service: {name: 'shop'}}, says: ['spec.service.port: Required value']},
  ...[0, 70_000, 'HTTP', 'http_2', 'a'.repeat(64)].map(
    (port): CrdRow => ({
      case: `port ${port}`,
      kind: 'Project',
      spec: {service: {name: 'shop', port}},
      says: ['spec.service.port', 'a port is a number from 1 to 65535, or the name of a port of the Service'],
    }),
  ),
  {
    case: 'a name with a dot',
    kind: 'Project',
    name: 'my.shop',
    spec: {service},
    says: ["the name of a Project is 1 to 63 characters of a-z, 0-9 and '-'"],
  },
  {
    case: 'a name of 64 characters',
    kind: 'Project',
    name: 'a'.repeat(64),
    spec: {service},
    says: ['the name of a Project is 1 to 63 characters'],
  },
  {
    case: 'a host that is primary and alias',
    kind: 'Project',
    spec: project({primary: 'a.example.com', aliases: ['a.example.com']}),
    says: ["'a.example.com' is both the primary and an alias: keep one"],
  },
  {
    case: 'a primary that redirects',
    kind: 'Project',
    spec: project({primary: 'a.example.com', redirects: [{from: 'a.example.com', to: 'b.example.com'}]}),
    says: ["'a.example.com' is the primary and cannot redirect as well: keep one"],
  },
  {
    case: 'an alias that redirects',
    kind: 'Project',
    spec: project({primary: 'b.example.com', aliases: ['a.example.com'], redirects: [{from: 'a.example.com'}]}),
    says: ['a host is both an alias and a redirect; keep one'],
  },
  {
    case: 'a redirect to nowhere',
    kind: 'Project',
    spec: project({redirects: [{from: 'a.example.com'}]}),
    says: ["a redirect without 'to' points to the primary, but there is no primary; set one of them"],
  },
  {
    case: 'a redirect to itself',
    kind: 'Project',
    spec: project({redirects: [{from: 'a.example.com', to: 'a.example.com'}]}),
    says: ['a host cannot redirect to itself'],
  },
  {
    case: 'a redirect status that is none',
    kind: 'Project',
    spec: project({primary: 'b.example.com', redirects: [{from: 'a.example.com', status: 304}]}),
    says: ['spec.domains.redirects[0].status', 'supported values: "301", "302", "303", "307", "308"'],
  },
  {
    case: 'an alias twice',
    kind: 'Project',
    spec: project({aliases: ['a.example.com', 'a.example.com']}),
    says: ['.spec.domains.aliases: duplicate entries for key [="a.example.com"]'],
  },
  {
    case: 'a name that is not the host',
    kind: 'Domain',
    name: 'other.example.com',
    spec: domain('shop.example.com'),
    says: ["metadata.name must be the host itself: name this Domain 'shop.example.com'", 'create another Domain'],
  },
  // attack: name-collision
  {
    case: 'a wildcard that is named otherwise',
    kind: 'Domain',
    name: 'shop.example.com',
    spec: domain('*.example.com'),
    says: ["name this Domain 'wc--any.example.com'"],
  },
  // attack: name-collision
  {
    case: 'the name of a wildcard as a host',
    kind: 'Domain',
    name: 'wc--any.example.com',
    spec: domain('wc--any.example.com'),
    says: ["has the label 'wc--any', and CAs reject"],
  },
  {
    case: 'a wildcard that redirects',
    kind: 'Domain',
    name: 'wc--any.example.com',
    spec: domain('*.example.com', {redirect: {to: 'a.example.com'}}),
    says: ['spec.redirect', 'a wildcard cannot redirect'],
  },
  {
    case: 'a redirect to a wildcard',
    kind: 'Domain',
    name: 'a.example.com',
    spec: domain('a.example.com', {redirect: {to: '*.example.com'}}),
    says: ['spec.redirect.to', 'is a wildcard, which names no host'],
  },
  ...[
    {primary: '*.example.com'},
    {primary: 'a.example.com', redirects: [{from: '*.example.com'}]},
    {primary: 'a.example.com', redirects: [{from: 'b.example.com', to: '*.example.com'}]},
  ].map(
    (domains, index): CrdRow => ({
      case: `a wildcard that is no alias (${index})`,
      kind: 'Project',
      spec: project(domains),
      says: ["'*.example.com' is a wildcard, which may only be an alias"],
    }),
  ),
  {
    case: 'a redirect to itself',
    kind: 'Domain',
    name: 'a.example.com',
    spec: domain('a.example.com', {redirect: {to: 'a.example.com'}}),
    says: ['spec.redirect.to', 'a host cannot redirect to itself'],
  },
  {
    case: 'a redirect status that is none',
    kind: 'Domain',
    name: 'a.example.com',
    spec: domain('a.example.com', {redirect: {to: 'b.example.com', status: 200}}),
    says: ['spec.redirect.status', 'supported values: "301", "302", "303", "307", "308"'],
  },
  {
    case: 'no Project',
    kind: 'Domain',
    name: 'a.example.com',
    spec: {host: 'a.example.com'},
    says: ['spec.projectRef: Required value'],
  },
  {
    case: 'no account',
    kind: 'DomainClaim',
    name: 'a.example.com',
    spec: {namespace: 'a', since: '2026-01-01T00:00:00Z'},
    says: ['spec.account: Required value'],
  },
  {case: 'no scopes', kind: 'APIKey', spec: {}, says: ['spec.scopes: Required value']},
  {case: 'an empty list of scopes', kind: 'APIKey', spec: {scopes: []}, says: ['spec.scopes', 'at least 1 items']},
  {
    case: 'a scope that is none',
    kind: 'APIKey',
    spec: {scopes: ['messages:delete']},
    says: ['spec.scopes[0]', 'supported values: "messages:write", "messages:read", "messages:process"'],
  },
  {
    case: 'a scope twice',
    kind: 'APIKey',
    spec: {scopes: ['messages:read', 'messages:read']},
    says: ['.spec.scopes: duplicate entries for key [="messages:read"]'],
  },
  {
    case: 'a name with a dot',
    kind: 'APIKey',
    name: 'my.key',
    spec: {scopes},
    says: ["the name of an APIKey is 1 to 63 characters of a-z, 0-9 and '-'"],
  },
  {
    case: 'a name of 64 characters',
    kind: 'APIKey',
    name: 'a'.repeat(64),
    spec: {scopes},
    says: ['the name of an APIKey is 1 to 63 characters'],
  },
  {
    case: 'a name that no Secret can have',
    kind: 'APIKey',
    spec: {scopes, secretName: 'My_Key'},
    says: ['spec.secretName', "a Secret name consists of a-z, 0-9, '-' and '.'"],
  },
  {
    case: 'an expiry that is no time',
    kind: 'APIKey',
    spec: {scopes, expiresAt: 'tomorrow'},
    says: ['spec.expiresAt', 'date-time'],
  },
  {
    case: 'an overlap of more than 30 days',
    kind: 'APIKey',
    spec: {scopes, rotation: {overlapSeconds: 2_592_001}},
    says: ['spec.rotation.overlapSeconds', 'should be less than or equal to 2592000'],
  },
  {
    case: 'a name that is not a hash',
    kind: 'KeyClaim',
    name: 'npk-abc',
    spec: holder,
    says: ['the name of a KeyClaim is the SHA-256 of a key in hexadecimal'],
  },
  ...Object.keys(holder).map(
    (field): CrdRow => ({
      case: `no ${field}`,
      kind: 'KeyClaim',
      name: 'a'.repeat(64),
      spec: {...holder, [field]: undefined},
      says: [`spec.${field}`, 'Required value'],
    }),
  ),
];
