// The simulated receiver with both decoders, and a gate through which every metrics request goes that it accepts:
// closing it throws when one of them was not sane.

import { decodeLogsRequest, decodeMetricsRequest } from '../../src/pipeline/encode/otlp-json.ts';
import { type Receiver, startReceiver } from '../../src/simulator/receiver.ts';
import { WireGate, type WireSanityOptions } from './wire-sanity.ts';

export type CheckedReceiver = Receiver & { readonly gate: WireGate };

/** An answer may be lost, as where a process is killed: points may come again, as they were. */
const SANITY: WireSanityOptions = { mayResend: true };

export async function startCheckedReceiver(
  options: Parameters<typeof startReceiver>[0],
): Promise<CheckedReceiver> {
  const gate = new WireGate(SANITY);
  const receiver = await startReceiver({
    decodeMetrics: decodeMetricsRequest,
    decodeLogs: decodeLogsRequest,
    ...options,
    onAccepted: (signal, body, format) => {
      if (signal === 'metrics') gate.takeBody(body, format === 'json');
      options.onAccepted?.(signal, body, format);
    },
  });
  const close = receiver.close.bind(receiver);
  return Object.assign(receiver, {
    gate,
    close: async () => {
      await close();
      gate.expectSane();
    },
  });
}
