/** Judges what a visit to the edge shows about a host. Pure. */
import type {Response, ServedCertificate, VisitResult} from './visit.ts';

/** The answer that the edge must give for one host. */
export interface ProbeQuestion {
  readonly host: string;
  /** The certificate must name the host itself: one for a wildcard above it would show that another route serves it. */
  readonly isNamed?: boolean;
  /** The issuer signs each certificate with its own key. Otherwise, a self-signed one is not from the issuer. */
  readonly allowsSelfSigned?: boolean;
  readonly redirect?: {readonly to: string; readonly status: number};
  /** The route answers a request for `path` with a redirect to the path `location`, unlike the route of any other host. */
  readonly route?: {readonly path: string; readonly location: string};
}

export type ProbeReason =
  | 'Answering'
  | 'EdgeUnreachable'
  | 'NoAnswer'
  | 'WrongCertificate'
  | 'WrongRedirect'
  | 'WrongRoute';

export interface ProbeVerdict {
  readonly reason: ProbeReason;
  readonly verified: boolean;
  /** The edge was reached, so a "no" concerns the host. */
  readonly agreed: boolean;
  /** Of a "yes": what a browser may reject nevertheless. */
  readonly message: string;
}

const MAX_SHOWN = 200;

/** The clock of this process may be behind by this much. */
const CLOCK_TOLERANCE_MS = 7_200_000;

/** `nowMs`: by the wall clock. */
export function judgeVisit(question: ProbeQuestion, answer: VisitResult, nowMs: number): ProbeVerdict {
  const {host, redirect, route} = question;
  switch (answer.kind) {
    case 'unreachable':
    case 'silent':
      return {
        reason: 'EdgeUnreachable',
        verified: false,
        agreed: false,
        message: `The edge cannot be reached (${answer.why}).`,
      };
    case 'closed':
      return no('NoAnswer', `The edge closes connections for ${host} without presenting a certificate.`);
    case 'answered': {
      const {certificate, response} = answer;
      const fault = faultOf(question, certificate, nowMs);
      if (fault !== undefined) {
        return no('WrongCertificate', `The edge presents ${shown(certificate)} for ${host}${fault}.`);
      }
      const yes = {...YES, message: doubtAbout(certificate)};
      if (redirect) {
        const to = `https://${redirect.to}/`;
        if (response?.status === redirect.status && response.location === to) return yes;
        const message = `The edge answers https://${host}/ with ${shownResponse(response)} instead of a redirect to ${to} with ${redirect.status}.`;
        return no('WrongRedirect', message);
      }
      if (route && pathOf(response?.location, host) !== route.location) {
        const message = `Another route answers requests for ${host} (${route.path}: ${shownResponse(response)}).`;
        return no('WrongRoute', message);
      }
      return yes;
    }
  }
}

const YES: ProbeVerdict = {reason: 'Answering', verified: true, agreed: true, message: ''};

function no(reason: ProbeReason, message: string): ProbeVerdict {
  return {reason, verified: false, agreed: true, message};
}

/** Some edges answer with a full URL. */
function pathOf(location: string | undefined, host: string): string | undefined {
  return location === undefined ? undefined : URL.parse(location, `https://${host}`)?.pathname;
}

/** The fault for which every browser rejects the certificate. */
function faultOf(
  {host, isNamed = false, allowsSelfSigned = false}: ProbeQuestion,
  {names, notBeforeMs, notAfterMs, untrusted}: ServedCertificate,
  nowMs: number,
): string | undefined {
  if (!names.some(name => (isNamed ? name === host : covers(name, host)))) return '';
  if (nowMs >= notAfterMs) return ', which has expired';
  if (nowMs < notBeforeMs - CLOCK_TOLERANCE_MS) return ', which is not valid yet';
  return untrusted === SELF_SIGNED && !allowsSelfSigned ? ', which is self-signed' : undefined;
}

const SELF_SIGNED = 'DEPTH_ZERO_SELF_SIGNED_CERT';

/** RFC 6125, 6.4.3: the wildcard stands for one label. */
function covers(name: string, host: string): boolean {
  return name === host || (name.startsWith('*.') && name.slice(1) === host.slice(host.indexOf('.')));
}

/** A private CA, or that of a staging environment, is unknown here, and perhaps not to the visitors. */
function doubtAbout({untrusted}: ServedCertificate): string {
  if (untrusted === undefined) return '';
  return `Its chain does not end at a certificate authority that Nameplate knows (${untrusted}); browsers reject it unless they know that authority.`;
}

function shown({names, notBeforeMs, notAfterMs}: ServedCertificate): string {
  const dates = [notBeforeMs, notAfterMs].map(ms => new Date(ms).toISOString().slice(0, 10)).join(' to ');
  return `a certificate for ${printable(names.join(', ')) || 'no host'} (${dates})`;
}

function shownResponse(response: Response | undefined): string {
  if (!response || response.status === 0) return 'no response';
  return `${response.status}${response.location === undefined ? '' : ` to ${printable(response.location)}`}`;
}

function printable(text: string): string {
  return text.slice(0, MAX_SHOWN).replace(/[^ -~]/g, '?');
}
