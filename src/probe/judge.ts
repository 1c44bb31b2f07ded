/** Judges what a visit to the edge shows about a host. Pure. */
import type {Response, ServedCertificate, VisitResult} from './visit.ts';

/** What the edge must answer for one host. */
export interface ProbeQuestion {
  readonly host: string;
  /** The validity of the certificate, as cert-manager reports it, in RFC 3339. It names the host and nothing else. */
  readonly certificate: Validity;
  /** The certificate before the last renewal: the edge may present it for a while. */
  readonly previous?: Validity;
  readonly redirect?: {readonly to: string; readonly status: number};
  /** The route answers a request for `path` with a redirect to the path `location`, unlike the route of any other host. */
  readonly route?: {readonly path: string; readonly location: string};
}

interface Validity {
  readonly notBefore: string;
  readonly notAfter: string;
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
  readonly message: string;
}

const MAX_SHOWN = 200;

export function judgeVisit(question: ProbeQuestion, answer: VisitResult): ProbeVerdict {
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
      if (!isExpected(question, certificate))
        return no('WrongCertificate', `The edge presents ${shown(certificate)} for ${host}.`);
      if (redirect) {
        const to = `https://${redirect.to}/`;
        if (response?.status === redirect.status && response.location === to) return YES;
        const message = `The edge answers https://${host}/ with ${shownResponse(response)} instead of a redirect to ${to} with ${redirect.status}.`;
        return no('WrongRedirect', message);
      }
      if (route && pathOf(response?.location, host) !== route.location) {
        const message = `Another route answers requests for ${host} (${route.path}: ${shownResponse(response)}).`;
        return no('WrongRoute', message);
      }
      return YES;
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

function isExpected({host, certificate, previous}: ProbeQuestion, served: ServedCertificate): boolean {
  if (served.names.length !== 1 || served.names[0] !== host) return false;
  return [certificate, ...(previous ? [previous] : [])].some(
    ({notBefore, notAfter}) =>
      Date.parse(notBefore) === served.notBeforeMs && Date.parse(notAfter) === served.notAfterMs,
  );
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
