import {CaaAllowed, type DomainCondition} from './conditions.ts';
import {before, type DomainView} from './view.ts';

/** CAA, from the last DNS check. If the lookup fails, a CA must refuse (RFC 8659), so nothing is requested. */
export function checkCaa(view: DomainView): DomainCondition {
  const caa = view.check?.verdict.caa;
  if (!caa) {
    const last = before(view, 'CAAAllowed');
    return last ? {...last, type: 'CAAAllowed'} : CaaAllowed.waiting();
  }
  switch (caa.outcome) {
    case 'allowed':
      return CaaAllowed.yes(caa.message);
    case 'forbidden':
      return CaaAllowed.forbidden(caa.message);
    case 'lookup-failed': {
      // An outage changes nothing: what was allowed stays allowed until a CAA record forbids it.
      const last = before(view, 'CAAAllowed');
      return last?.status === 'True' ? {...last, type: 'CAAAllowed'} : CaaAllowed.lookupFailed(caa.message);
    }
    case 'unchecked':
      return view.question.caaIdentities.length > 0 ? CaaAllowed.waiting() : CaaAllowed.notChecked();
  }
}
