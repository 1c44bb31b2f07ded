import {CaaAllowed, type DomainCondition} from './conditions.ts';
import {before, type DomainView} from './view.ts';

/** CAA as the last check of DNS found it. A CA refuses where the look-up fails (RFC 8659), so nothing is ordered then. */
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
      // An outage demotes nothing: what was allowed stays so until a CAA record says otherwise.
      const last = before(view, 'CAAAllowed');
      return last?.status === 'True' ? {...last, type: 'CAAAllowed'} : CaaAllowed.lookupFailed(caa.message);
    }
    case 'unchecked':
      return view.question.caaIdentities.length > 0 ? CaaAllowed.waiting() : CaaAllowed.notChecked();
  }
}
