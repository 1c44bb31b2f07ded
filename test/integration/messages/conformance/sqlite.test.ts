import {startService} from '../service.ts';
import {conformanceSuite} from './suite.ts';

conformanceSuite('SQLite', startService);
