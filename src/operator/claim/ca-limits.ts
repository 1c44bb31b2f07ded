import type {ACMEIssuerSpec} from '../../api/generated/acmeissuer.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {CaLimits} from './order-windows.ts';

/** The API server fills in the defaults of the CRD. */
export function limitsOf({limits}: DeepReadonly<ACMEIssuerSpec>): CaLimits {
  return limits as CaLimits;
}
