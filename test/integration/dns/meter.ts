/** Counts the reads of a decoded message, to measure the cost of a verdict without a clock. */
import type {Message} from '../../../src/dns/wire/codec.ts';

export interface Meter {
  /** Records of the metered messages. */
  records: number;
  /** Reads of a property: of a message, of a section, or of a record. */
  reads: number;
}

export function metered(message: Message, meter: Meter): Message {
  meter.records += message.answers.length + message.authority.length + message.additional.length;
  return counting(message, meter, new Map());
}

/** The same object always has the same proxy, so that comparisons by identity still hold. */
function counting<T extends object>(object: T, meter: Meter, known: Map<object, object>): T {
  const proxy = new Proxy(object, {
    get(target, key, receiver) {
      meter.reads++;
      const value: unknown = Reflect.get(target, key, receiver);
      if (typeof value !== 'object' || value === null) return value;
      return known.get(value) ?? counting(value, meter, known);
    },
  });
  known.set(object, proxy);
  return proxy;
}
