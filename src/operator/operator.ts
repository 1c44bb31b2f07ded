import type {ApiKeyOperator} from './apikey/context.ts';
import type {DomainOperator} from './domain/context.ts';
import type {IssuerOperator} from './issuer/context.ts';
import type {ProjectOperator} from './project/context.ts';

/** All parts of the operator, for those who connect them. A reconcile takes the part of its room. */
export interface Operator extends ProjectOperator, DomainOperator, IssuerOperator, ApiKeyOperator {}
