/** A backend in Nest with the receiver in it. README.md in this folder says how to run it. */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
// SIGTERM then closes the app, and with it the receiver. An end that was asked for has the exit code 0.
app.enableShutdownHooks([], { useProcessExit: true });
const server = await app.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1');
// Longer than a proxy in front keeps an idle connection: it might send a delivery on one that is just being closed.
server.keepAliveTimeout = 75_000;
process.stdout.write(`${JSON.stringify({ event: 'listening', address: server.address() })}\n`);
