// biome-ignore lint/performance/noBarrelFile: a package can export no file outside of its folder.
export {type Clock, systemClock} from '../time/clock.ts';
