import {fuzzSuite} from '../fuzz.suite.ts';
import {podsOnSharedServer} from './shared-server.ts';

fuzzSuite(podsOnSharedServer());
