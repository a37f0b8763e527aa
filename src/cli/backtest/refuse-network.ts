/** Imported before a backtest's program and each of its threads, so that it applies to everything that they import. */
import { refuseNetwork } from './network.ts';

refuseNetwork();
