/** Asks a platform for one knowledge base; nothing else keeps the process alive. */
import { createPlatform } from '../../src/platform/index.ts';

const platform = createPlatform({ baseUrl: process.argv[2], apiKey: 'key', retry: { base: '50ms' } });
const { name } = await platform.knowledgeBases.get('kb_1');
process.stdout.write(`${JSON.stringify({ name })}\n`);
