// The texts for what can be wrong with one service and its samples: what it means, and what to do about it.
// Reasons without an entry here speak for themselves, or are plain consequences of the configuration.

/** A message without a full stop, and a hint in whole sentences ('' where there is nothing to do). */
export interface Advice {
  readonly message: string;
  readonly hint: string;
}

/** Why a service is down on a page that is good. */
export const SERVICE_ADVICE: Readonly<Record<string, Advice>> = {
  absent: {
    message: 'the page is good but does not have this service',
    hint: 'Check its id under services, and that the key may see it.',
  },
  bad_lines: {
    message: 'more of its lines cannot be read than metrics.bad_share allows',
    hint: 'Save the page and run prom2otlp show decode on it.',
  },
  service_samples: {
    message: 'it has more samples than metrics.limits.service_samples',
    hint: 'Raise the limit if this many are expected.',
  },
};

/** Why samples of the last page made no point, where that is no plain consequence of the configuration. */
export const DROP_ADVICE: Readonly<Record<string, Advice>> = {
  time_backwards: {
    message: 'older than what was sent before for the same series',
    hint: 'A back end would refuse them. Two sources that share one id would do this.',
  },
  time_conflict: {
    message: 'with another value at a time that was sent before',
    hint: 'A back end would refuse them. Two sources that share one id would do this.',
  },
  time_future: {
    message: 'more than ten minutes ahead of our clock',
    hint: 'Check the clock of this machine; metrics.honor_timestamps: false uses ours instead.',
  },
  histogram_invalid: {
    message: 'of histograms whose buckets contradict each other',
    hint: 'This comes from the service; the other series are not affected.',
  },
  summary_invalid: {
    message: 'of summaries without a count',
    hint: 'This comes from the service; the other series are not affected.',
  },
  gauge_histogram: {
    message: 'of gauge histograms, which OTLP has no type for',
    hint: 'Nothing needs to be done; metrics.exclude makes it quiet.',
  },
  duplicate: {
    message: 'that stand on the page twice',
    hint: 'Check metrics.drop_labels: it may remove what tells the series apart.',
  },
};

/** Its explicit timestamps have not moved for `metrics.stale_after`. */
export const SOURCE_STALE: Advice = {
  message: 'its timestamps stand still: the service shows the same values again and again',
  hint: 'Its series are marked as ended until it moves again. Look at the state of the service.',
};

/** Uptimes stand still while their timestamps, or our scrapes, go on. */
export const UPTIME_STUCK: Advice = {
  message: 'an uptime series stands still: restarts and failovers cannot be told by it',
  hint: 'A counter that falls is still a reset. Look at what exports the uptime series.',
};

/** Our clock and the service's are far apart. */
export const CLOCK_SKEWED: Advice = {
  message: 'the clock of this machine and the one of the service differ',
  hint: 'Set the clock of this machine: samples without a timestamp, and the series up and scrape_*, get its time.',
};
