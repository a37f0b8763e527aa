/**
 * The public entry `ringback/nest`. It needs the packages `@nestjs/common` and `@nestjs/core`, which the app has.
 *
 * @module ringback/nest
 */
export { Fallback, On, OnCall } from './decorators.ts';
export { RingbackModule, type RingbackModuleAsyncOptions, type RingbackModuleOptions } from './module.ts';
