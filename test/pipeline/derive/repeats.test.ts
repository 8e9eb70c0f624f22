// A series that occurs on a page more than once (F2, F3).
import { describe, expect, test } from 'vitest';
import { at, type Seen, Target, type TargetOptions } from '../../support/target.ts';

function seen(text: string, options: TargetOptions = {}): Seen {
  return new Target(options).page(
    60,
    `${text.replaceAll(/@(\d+)/g, (_, seconds: string) => String(at(Number(seconds))))}\n`,
  );
}

describe('F2: several samples of a series on one page', () => {
  const check = (
    text: string,
    shown: readonly string[],
    reads: Readonly<Record<string, number>>,
  ): void => {
    const result = seen(text);
    expect(result.shown).toEqual(shown);
    expect(result.reads).toEqual(reads);
  };

  test('F2: newer times make further points, in order', () => {
    check('x 1 @10\nx 2 @20\nx 3 @30', ['gauge x{} 1 @10', 'gauge x{} 2 @20', 'gauge x{} 3 @30'], {
      used: 3,
    });
    const counter = '# TYPE x counter\nx 1 @10\nx 2 @20';
    check(counter, ['sum x{} 1 @10 from 10', 'sum x{} 2 @20 from 10'], { used: 2 });
  });

  test('F2: older and equal times do not', () => {
    check('x 1 @20\nx 2 @10', ['gauge x{} 1 @20'], { used: 1, time_backwards: 1 });
    check('x 1 @20\nx 1 @20', ['gauge x{} 1 @20'], { used: 1, repeated: 1 });
    check('x 1 @20\nx 2 @20', ['gauge x{} 1 @20'], { used: 1, time_conflict: 1 });
    check('x 1\nx 2', ['gauge x{} 1 @60'], { used: 1, time_conflict: 1 });
    check('x{a="1",b="2"} 1\nx{b="2",a="1"} 1', ['gauge x{a=1,b=2} 1 @60'], {
      used: 1,
      repeated: 1,
    });
  });

  test.each(['gauge', 'counter'])('F2: NaN equals NaN, also after a number (%s)', type => {
    const text = (...values: readonly (readonly [string, number])[]): string =>
      [`# TYPE x ${type}`, ...values.map(([value, time]) => `x ${value} ${at(time)}`), ''].join(
        '\n',
      );
    const target = new Target();
    target.page(60, text(['5', 10]));
    const twice = target.page(120, text(['NaN', 70], ['NaN', 70]));
    expect(twice.reads).toEqual({ used: 1, repeated: 1 });
    expect(target.page(180, text(['NaN', 70])).reads).toEqual({ repeated: 1 });
    expect(target.page(240, text(['5', 70])).reads).toEqual({ time_conflict: 1 });
    target.page(300, text(['7', 250]));
    expect(target.page(360, text(['NaN', 250])).reads).toEqual({ time_conflict: 1 });
  });

  test('F2: a sample replaces one that could not be sent', () => {
    check('x 1 @7200\nx 2 @10', ['gauge x{} 2 @10'], { used: 1, time_future: 1 });
    const target = new Target();
    target.page(60, `x 1 ${at(50)}\n`);
    const next = target.page(120, `x 1 ${at(50)}\nx 2 ${at(110)}\n`);
    expect(next.shown).toEqual(['gauge x{} 2 @110']);
    expect(next.reads).toEqual({ used: 1, repeated: 1 });
  });

  test('F2: if a counter or a bucket falls between two of them, or in delta mode, they are duplicates', () => {
    check('# TYPE x counter\nx 5 @10\nx 2 @20', ['sum x{} 5 @10 from 10'], {
      used: 1,
      duplicate: 1,
    });
    const histogram = '# TYPE h histogram\nh_count 3\nh_count 3';
    check(histogram, ['histogram h{} count=3 inf:3 @60 from 60'], { used: 1, duplicate: 1 });
    expect(seen('# TYPE x counter\nx 5 @10\nx 6 @20', { temporality: 'delta' }).reads).toEqual({
      baseline: 1,
      duplicate: 1,
    });
  });

  test('F2: the next page is compared with the last of them', () => {
    const target = new Target();
    target.page(60, `x 1 ${at(10)}\nx 2 ${at(20)}\n`);
    expect(target.page(120, `x 2 ${at(20)}\n`).reads).toEqual({ repeated: 1 });
    expect(target.page(180, `x 3 ${at(15)}\n`).reads).toEqual({ time_backwards: 1 });
  });

  test('F2: a series whose first sample stands still does not end if a later one moves', () => {
    const target = new Target();
    const old = `x 1 ${at(50)}\n`;
    target.page(60, old);
    const next = target.page(360, `${old}x 2 ${at(350)}\n`);
    expect(next.shown).toEqual(['gauge x{} 2 @350']);
    expect(next.reads).toEqual({ used: 1, repeated: 1 });
    expect(target.page(660, `${old}x 2 ${at(350)}\n`).shown).toEqual(['gauge x{} stale @350.001']);
  });

  test('F2: filters and services apply to them as well', () => {
    expect(seen('x 1\nx 2', { metrics: { exclude: [/^x$/] } }).reads).toEqual({ excluded: 2 });
    expect(seen('x{namespace="z"} 1\nx{namespace="z"} 2', { services: ['a'] }).reads).toEqual({
      unconfigured: 2,
    });
  });
});
