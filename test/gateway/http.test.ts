import {challengesOnPort80} from '../e2e/http.suite.ts';

challengesOnPort80();
