import { Body, Controller, Get, Module, Post } from '@nestjs/common';
import { Receiver, createReceiver } from 'ringback';
import { RingbackModule } from 'ringback/nest';
import { CallHandlers } from './call-handlers.js';
import { CallLog } from './call-log.js';

@Controller()
class AppController {
  readonly #receiver: Receiver;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  @Get('counts')
  counts() {
    return this.#receiver.counts();
  }

  @Post('echo')
  echo(@Body() body: unknown) {
    return body;
  }
}

@Module({
  imports: [
    RingbackModule.forRootAsync({
      path: '/webhooks/calls',
      // Called once for each app, so that each test has a receiver of its own. `inject` lists the providers of its
      // arguments.
      useFactory: () =>
        createReceiver({
          secrets: process.env['WEBHOOK_SECRET'],
          database: process.env['DATABASE'] ?? './calls.db',
          https: { trustProxy: 'loopback' },
        }),
    }),
  ],
  controllers: [AppController],
  providers: [CallHandlers, CallLog],
})
export class AppModule {}
