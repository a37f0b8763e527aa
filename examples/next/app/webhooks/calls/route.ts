import { started } from '../../../receiver.ts';

/** Takes a delivery. Next has read nothing of its body. */
export async function POST(request: Request): Promise<Response> {
  const receiver = await started();
  return receiver.fetch(request);
}
