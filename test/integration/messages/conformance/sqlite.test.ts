import {startService} from '../service.ts';
import {conformanceSuite} from './conformance.suite.ts';

conformanceSuite('SQLite', startService);
