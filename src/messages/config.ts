/** Configuration of the messages API, with every default applied. config-schema.ts describes each option. */
import type {MessagesConfig} from './generated/config.ts';

export type {MessagesConfig};
export type StoreConfig = MessagesConfig['store'];
export type PostgresConfig = StoreConfig['postgres'];
export type LimitsConfig = MessagesConfig['limits'];
