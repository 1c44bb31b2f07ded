/** What a former holder of a host tries on a Gateway, where solvers are HTTPRoutes. */
import {losingHosts} from '../e2e/attacks/former-holder.suite.ts';

losingHosts();
