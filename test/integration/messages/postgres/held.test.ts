import {heldSuite} from '../held.suite.ts';
import {podsOnSharedServer} from './shared-server.ts';

heldSuite(podsOnSharedServer());
