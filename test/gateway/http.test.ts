import {challengesOnPort80} from '../e2e/http.suite.ts';
import {protocols} from '../e2e/protocols.suite.ts';

challengesOnPort80();
protocols();
