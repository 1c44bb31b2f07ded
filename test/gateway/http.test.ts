import {challengesOnPort80} from '../e2e/http.suite.ts';
import {leadersThatDie} from '../e2e/orders.suite.ts';
import {protocols} from '../e2e/protocols.suite.ts';

challengesOnPort80();
protocols();
leadersThatDie();
