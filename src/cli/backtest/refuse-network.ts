/** Imported before the program of a backtest, and before each of its threads, so that it holds for all that these import. */
import { refuseNetwork } from './network.ts';

refuseNetwork();
