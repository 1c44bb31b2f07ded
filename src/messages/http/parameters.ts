/** Parses parameters in queries and bodies, except the message, or returns a response that says what is wrong. */
import {isMessageId} from '../store/message-id.ts';
import {MESSAGE_STATUSES, type MessageStatus} from '../store/store.ts';
import {type Answer, badMember, badQuery} from './answer.ts';
import type {JsonObject} from './body.ts';

export type Parsed<T> = {readonly ok: true; readonly value: T} | {readonly ok: false; readonly answer: Answer};

export const LIST_LIMIT = {default: 20, max: 100} as const;
export const CLAIM_LIMIT = {default: 1, max: 100} as const;
export const LEASE_SECONDS = {default: 30, max: 43_200} as const;
export const DELAY_SECONDS = {default: 0, max: 86_400} as const;
export const REASON_LENGTH = 1000;
/** How much of a reason is kept, in UTF-8. */
export const REASON_BYTES = 512;
const LEASE_LENGTH = 100;

export interface ListParameters {
  readonly limit: number;
  readonly after?: string;
  readonly status?: MessageStatus;
}

export interface ClaimParameters {
  readonly limit: number;
  readonly leaseMs: number;
}

export interface NackParameters {
  readonly lease: string;
  readonly delayMs: number;
  readonly reason?: string;
}

const LIST_PARAMETERS = ['limit', 'cursor', 'status'];

/** Unknown parameters are rejected: a misspelled filter would show what it was meant to hide. */
export function parseList(query: string): Parsed<ListParameters> {
  if (query === '') return {ok: true, value: {limit: LIST_LIMIT.default}};
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].find(name => !LIST_PARAMETERS.includes(name));
  if (unknown !== undefined) {
    return {ok: false, answer: badQuery(unknown, `The parameters are ${LIST_PARAMETERS.join(', ')}.`)};
  }
  const repeated = LIST_PARAMETERS.find(name => parameters.getAll(name).length > 1);
  if (repeated !== undefined) return {ok: false, answer: badQuery(repeated, `${repeated} must be given only once.`)};
  const limit = parameters.get('limit');
  const cursor = parameters.get('cursor');
  const status = parameters.get('status');
  if (limit !== null && !(/^\d{1,3}$/.test(limit) && isWithin(Number(limit), 1, LIST_LIMIT.max))) {
    return {ok: false, answer: badQuery('limit', `limit must be a whole number from 1 to ${LIST_LIMIT.max}.`)};
  }
  if (cursor !== null && !isMessageId(cursor)) {
    return {ok: false, answer: badQuery('cursor', 'cursor must be the nextCursor of an earlier page.')};
  }
  if (status !== null && !isStatus(status)) {
    return {ok: false, answer: badQuery('status', `status must be one of ${MESSAGE_STATUSES.join(', ')}.`)};
  }
  return {
    ok: true,
    value: {
      limit: limit === null ? LIST_LIMIT.default : Number(limit),
      ...(cursor !== null && {after: cursor}),
      ...(status !== null && {status}),
    },
  };
}

export function parseClaim({
  limit = CLAIM_LIMIT.default,
  leaseSeconds = LEASE_SECONDS.default,
}: JsonObject): Parsed<ClaimParameters> {
  if (!isWithin(limit, 1, CLAIM_LIMIT.max)) return badNumber('limit', 1, CLAIM_LIMIT.max);
  if (!isWithin(leaseSeconds, 1, LEASE_SECONDS.max)) return badNumber('leaseSeconds', 1, LEASE_SECONDS.max);
  return {ok: true, value: {limit, leaseMs: leaseSeconds * 1000}};
}

export function parseAck({lease}: JsonObject): Parsed<{readonly lease: string}> {
  if (typeof lease === 'string' && isWithin(lease.length, 1, LEASE_LENGTH)) return {ok: true, value: {lease}};
  return {ok: false, answer: badMember('#/lease', 'lease must be the lease that came with the claimed message.')};
}

export function parseNack(body: JsonObject): Parsed<NackParameters> {
  const ack = parseAck(body);
  if (!ack.ok) return ack;
  const {delaySeconds = DELAY_SECONDS.default, reason} = body;
  if (!isWithin(delaySeconds, 0, DELAY_SECONDS.max)) return badNumber('delaySeconds', 0, DELAY_SECONDS.max);
  if (reason !== undefined && !(typeof reason === 'string' && reason.length <= REASON_LENGTH)) {
    return {
      ok: false,
      answer: badMember('#/reason', `reason must be a string of at most ${REASON_LENGTH} characters.`),
    };
  }
  return {
    ok: true,
    value: {...ack.value, delayMs: delaySeconds * 1000, ...(reason !== undefined && {reason: shortened(reason)})},
  };
}

/** At most REASON_BYTES, whole characters, with an ellipsis if it was truncated. */
function shortened(reason: string): string {
  const text = reason.toWellFormed();
  if (Buffer.byteLength(text) <= REASON_BYTES) return text;
  const {read} = new TextEncoder().encodeInto(text, new Uint8Array(REASON_BYTES - Buffer.byteLength('…')));
  return `${text.slice(0, read)}…`;
}

function badNumber(member: string, min: number, max: number): {readonly ok: false; readonly answer: Answer} {
  return {ok: false, answer: badMember(`#/${member}`, `${member} must be a whole number from ${min} to ${max}.`)};
}

function isWithin(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}

function isStatus(text: string): text is MessageStatus {
  return MESSAGE_STATUSES.some(status => status === text);
}
