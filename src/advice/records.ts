/** The DNS records to create, each beside what was found in its place. */
import type {DomainStatus} from '../api/generated/domain.ts';
import type {Domain, RequiredRecord} from '../operator/kinds/kinds.ts';
import type {DeepReadonly} from '../runtime/kube/object.ts';
import type {Provider} from './providers.ts';

type ObservedRecord = NonNullable<NonNullable<DomainStatus['dns']>['observed']>[number];

export interface RecordAdvice {
  readonly required: DeepReadonly<RequiredRecord>;
  /** What to enter in the name field of the provider's form. Empty: leave the field empty. */
  readonly label: string;
  /** What the provider calls the type. */
  readonly type: string;
  /** What the name servers have at this name, except what is right. */
  readonly observed: readonly DeepReadonly<ObservedRecord>[];
  readonly isFound: boolean;
}

export interface Alternative {
  /** Which of the records these replace: create only one of the two. */
  readonly to: 'ALIAS' | 'addresses' | 'TXT';
  readonly records: readonly RecordAdvice[];
}

export interface RecordSetAdvice {
  readonly records: readonly RecordAdvice[];
  readonly alternatives: readonly Alternative[];
}

const ADDRESSES: ReadonlySet<string> = new Set(['A', 'AAAA']);

/** `isVerified`: DNS is right, whichever of the alternatives the owner chose. */
export function adviseRecords(
  {status}: DeepReadonly<Domain>,
  provider: Provider | undefined,
  isVerified: boolean,
): RecordSetAdvice {
  const {required = [], observed = []} = status?.dns ?? {};
  const advised = required.map(record => adviseRecord(record, observed, provider, isVerified));
  const replacing = (type: string) => advised.filter(({required: {insteadOf}}) => insteadOf === type);
  const addresses = replacing('ALIAS');
  const hasNoAlias = provider !== undefined && provider.alias === undefined;
  const routes: Alternative =
    hasNoAlias && addresses.length > 0
      ? {to: 'addresses', records: advised.filter(({required: {type}}) => type === 'ALIAS')}
      : {to: 'ALIAS', records: addresses};
  const all: readonly Alternative[] = [routes, {to: 'TXT', records: replacing('TXT')}];
  const alternatives = all.filter(({records}) => records.length > 0);
  const others = new Set(alternatives.flatMap(({records}) => records));
  return {records: advised.filter(record => !others.has(record)), alternatives};
}

function adviseRecord(
  required: DeepReadonly<RequiredRecord>,
  observed: readonly DeepReadonly<ObservedRecord>[],
  provider: Provider | undefined,
  isVerified: boolean,
): RecordAdvice {
  const here = observed.filter(({name}) => bare(name) === bare(required.name));
  const isRight = ({type, value}: DeepReadonly<ObservedRecord>) =>
    type === required.type && bare(value) === bare(required.value);
  return {
    required,
    label: required.label === '@' ? (provider?.apex ?? '@') : required.label,
    type: required.type === 'ALIAS' ? (provider?.alias ?? required.type) : required.type,
    observed: isVerified ? [] : here.filter(record => concerns(required.type, record.type) && !isRight(record)),
    isFound: isVerified || here.some(isRight),
  };
}

/** TXT records stand beside others, as do addresses of the other family. At an alias, each address is in the way. */
function concerns(required: string, observed: string): boolean {
  if (required === 'TXT' || observed === 'TXT') return required === observed;
  return !ADDRESSES.has(required) || !ADDRESSES.has(observed) || required === observed;
}

function bare(name: string): string {
  return name
    .toLowerCase()
    .replace(/^"(.*)"$/, '$1')
    .replace(/\.$/, '');
}
