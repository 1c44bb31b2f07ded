/**
 * From the head of a request to the answer. Pure.
 *
 * HTTP-01 needs no state: a CA compares the answer with the thumbprint of the account that placed the order, so the same
 * rule answers for every token, and an answer proves nothing for another account (RFC 8555, section 8.3). The token is
 * the only part of a request that an answer repeats, and only if every character of it is base64url.
 */
const CHALLENGE = /^\/\.well-known\/acme-challenge\/(?<token>[A-Za-z0-9_-]{1,128})$/;
/** RFC 9112, section 3. A token as in RFC 9110, section 5.6.2, then a target of visible characters. */
const REQUEST_LINE = /^(?<method>[\w!#$%&'*+.^`|~-]+) (?<target>[!-~]+) HTTP\/(?<version>\d\.\d)$/;
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]+/i;

/** All that this program ever answers. */
const TEXTS = {
  400: ['Bad Request', 'This is not a valid HTTP/1.1 request.\n'],
  404: ['Not Found', 'There is nothing at this address.\n'],
  405: ['Method Not Allowed', 'Only GET and HEAD are supported.\n'],
  408: ['Request Timeout', 'The request took too long to arrive.\n'],
  431: ['Request Header Fields Too Large', 'The headers are too large.\n'],
  503: ['Service Unavailable', 'The platform cannot answer ACME challenges yet. Retry later.\n'],
  505: ['HTTP Version Not Supported', 'Only HTTP/1.1 and HTTP/1.0 are supported.\n'],
} as const;

export interface ChallengeAnswer {
  readonly status: 200 | keyof typeof TEXTS;
  readonly reason: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  /** A response to HEAD has the headers of the body, and no body. */
  readonly isHead: boolean;
}

/**
 * `head`: the request line and the header lines without the final empty line, one character per byte. Nothing depends
 * on a header or a body, because each connection is closed after one answer.
 */
export function answerTo(head: string, thumbprint: string | undefined): ChallengeAnswer {
  const [first = ''] = head.replace(/^\r\n/, '').split('\r\n', 1);
  const {method = '', target = '', version = ''} = REQUEST_LINE.exec(first)?.groups ?? {};
  if (method === '') return plainAnswer(400);
  if (!version.startsWith('1.')) return plainAnswer(505);
  const isHead = method === 'HEAD';
  if (method !== 'GET' && !isHead) return plainAnswer(405, {headers: [['allow', 'GET, HEAD']]});
  const token = CHALLENGE.exec(target.replace(ABSOLUTE_FORM, ''))?.groups?.token;
  if (token === undefined) return plainAnswer(404, {isHead});
  if (thumbprint === undefined) return plainAnswer(503, {isHead, headers: [['retry-after', '5']]});
  return {
    status: 200,
    reason: 'OK',
    headers: [['content-type', 'application/octet-stream']],
    body: `${token}.${thumbprint}`,
    isHead,
  };
}

export function plainAnswer(
  status: keyof typeof TEXTS,
  {isHead = false, headers = []}: Partial<Pick<ChallengeAnswer, 'isHead' | 'headers'>> = {},
): ChallengeAnswer {
  const [reason, body] = TEXTS[status];
  return {status, reason, headers: [['content-type', 'text/plain; charset=utf-8'], ...headers], body, isHead};
}

/** The bytes of the answer. No browser runs, frames, or guesses at what it contains. */
export function serialize({status, reason, headers, body, isHead}: ChallengeAnswer, date: Date): string {
  const lines = [
    `HTTP/1.1 ${status} ${reason}`,
    `date: ${date.toUTCString()}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
    'content-disposition: attachment',
    'x-content-type-options: nosniff',
    "content-security-policy: default-src 'none'; sandbox",
    'cache-control: no-store',
    'connection: close',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${isHead ? '' : body}`;
}
