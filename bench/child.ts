// Processes of the bench that are not measured: each answers calls from its parent, one after the other, over Node's own
// message channel, and ends when the parent does.

import { fork } from 'node:child_process';
import { once } from 'node:events';

type Functions = { readonly [name: string]: (argument: never) => unknown };

/** The parent's side of a child's functions. */
export type Calls<F extends Functions> = {
  readonly [Name in keyof F]: (
    ...argument: Parameters<F[Name]>
  ) => Promise<Awaited<ReturnType<F[Name]>>>;
};

export interface Child<F extends Functions> extends AsyncDisposable {
  readonly calls: Calls<F>;
}

interface Question {
  readonly name: string;
  readonly argument: unknown;
}

type Answer = { readonly value: unknown } | { readonly error: string };

/** Starts a file of this folder as a child; `names` are the functions that can be called in it. */
export function startChild<F extends Functions>(
  file: string,
  names: readonly (keyof F & string)[],
): Child<F> {
  const path = new URL(file, import.meta.url);
  const child = fork(path, { serialization: 'advanced', execArgv: ['--max-old-space-size=8192'] });
  const ended = once(child, 'exit');
  let tail: Promise<unknown> = Promise.resolve();
  const call = (name: string, argument: unknown): Promise<unknown> => {
    const asked = tail.then(async () => {
      const answered = once(child, 'message') as Promise<[Answer]>;
      child.send({ name, argument } satisfies Question);
      const gone = ended.then(() => Promise.reject(new Error(`${file} has ended`)));
      const [answer] = await Promise.race([answered, gone]);
      if ('error' in answer) throw new Error(`${file}: ${answer.error}`);
      return answer.value;
    });
    tail = asked.catch(() => undefined);
    return asked;
  };
  const calls = Object.fromEntries(
    names.map(name => [name, (argument: unknown) => call(name, argument)]),
  ) as unknown as Calls<F>;
  return {
    calls,
    [Symbol.asyncDispose]: async () => {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

/** The child's side: answers until the parent is gone. */
export function answerParent(functions: Functions): void {
  process.on('message', (question: Question) => {
    const answer = async (): Promise<unknown> =>
      functions[question.name]?.(question.argument as never);
    answer().then(
      value => process.send?.({ value }),
      (error: unknown) => process.send?.({ error: String(error) }),
    );
  });
  process.on('disconnect', () => process.exit());
}
