/** Reads what a resolver sends (RFC 1035 section 4.1, RFC 6891). The work for one message is bounded. */
import {DecodeError, WireReader} from '../dns/wire/wire-reader.ts';

export const HEADER_BYTES = 12;
export const TYPE_OPT = 41;
const CLASS_IN = 1;
/** IXFR has a record in front of EDNS and a signature. No query needs more. */
const MAX_RECORDS = 3;
/** Opcode, RD, and CD: an answer repeats them (RFC 1035 section 4.1.1, RFC 4035 section 3.1.6). */
const REPEATED = 0x7910;

export const RCODE = {NOERROR: 0, FORMERR: 1, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5, BADVERS: 16} as const;

export interface Question {
  /** Canonical, as in src/dns/names/wire-names.ts. */
  readonly name: string;
  readonly type: number;
  readonly isInternet: boolean;
  /** Name, type, and class, in the letter case of the query. */
  readonly bytes: Uint8Array;
}

interface Edns {
  /** The longest datagram that the resolver takes, in bytes. */
  readonly payload: number;
  readonly version: number;
  readonly isDnssecOk: boolean;
}

export interface ReceivedQuery {
  readonly id: number;
  readonly flags: number;
  /** In bytes. */
  readonly length: number;
  /** Absent if it cannot be read. */
  readonly question?: Question;
  readonly edns?: Edns;
  /** Why there is no answer to the question. */
  readonly fault?: number;
}

/** Undefined for what must not be answered: an answer, or too little to be a message. */
export function readQuery(bytes: Uint8Array): ReceivedQuery | undefined {
  if (bytes.length < HEADER_BYTES || ((bytes[2] ?? 0) & 0x80) !== 0) return undefined;
  const header = new WireReader(bytes);
  const id = header.u16();
  const flags = header.u16();
  const query = {id, flags: flags & REPEATED, length: bytes.length};
  if ((flags & 0x7800) !== 0) return {...query, fault: RCODE.NOTIMP};
  const questions = header.u16();
  const records = header.u16() + header.u16() + header.u16();
  if (questions !== 1) return {...query, fault: RCODE.FORMERR};
  // A reader of only this part: no name in it can point into the header.
  const reader = new WireReader(bytes.subarray(HEADER_BYTES));
  let question: Question | undefined;
  try {
    const [name, type, recordClass] = [reader.name(), reader.u16(), reader.u16()];
    const end = bytes.length - reader.left;
    question = {name, type, isInternet: recordClass === CLASS_IN, bytes: bytes.subarray(HEADER_BYTES, end)};
    const edns = readRecords(reader, records);
    if (!edns) return {...query, question};
    return {...query, question, edns, ...(edns.version > 0 && {fault: RCODE.BADVERS})};
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return {...query, ...(question && {question}), fault: RCODE.FORMERR};
  }
}

/** EDNS, if one of the records is that. The others, such as signatures, mean nothing to a server without keys. */
function readRecords(reader: WireReader, count: number): Edns | undefined {
  if (count > MAX_RECORDS) throw new DecodeError(`more than ${MAX_RECORDS} records in a query`);
  let edns: Edns | undefined;
  for (let at = 0; at < count; at++) {
    const [name, type, payload, flags] = [reader.name(), reader.u16(), reader.u16(), reader.u32()];
    reader.slice(reader.u16());
    if (type !== TYPE_OPT) continue;
    if (edns || name !== '.') throw new DecodeError('EDNS twice, or with a name');
    edns = {payload, version: (flags >>> 16) & 0xff, isDnssecOk: (flags & 0x8000) !== 0};
  }
  if (reader.left > 0) throw new DecodeError('bytes left over in a query');
  return edns;
}
