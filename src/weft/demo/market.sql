-- A trading floor's standing questions: a hundred continuous queries over one stream of trades.
-- Run it with `weft demo`, read its plan with `weft explain`, or copy what you need.
--
-- The stream is generated: deterministic, replayable, a little out of order. For your own, change FROM:
--   FROM kafka OPTIONS ('kafka.bootstrap.servers' = 'localhost:9092', 'subscribe' = 'trades', 'value.format' = 'json')

CREATE STREAM trades (symbol STRING, price DOUBLE, qty BIGINT, venue STRING, side STRING, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 2 SECONDS
  FROM generator OPTIONS ('preset' = 'market', 'symbols' = '50', 'rows.per.batch' = '2000',
    'rows.per.second' = '500', 'disorder' = '1500 milliseconds', 'start' = 'now', 'seed' = '42');

-- Candles: open, high, low and close. FIRST and LAST go by event time, however the rows arrive.

CREATE QUERY candles_10s AS
  SELECT symbol, FIRST(price) AS open, MAX(price) AS high, MIN(price) AS low, LAST(price) AS close, SUM(qty) AS volume
  FROM trades [RANGE 10 SECONDS] GROUP BY symbol;
CREATE QUERY candles_1m AS
  SELECT symbol, FIRST(price) AS open, MAX(price) AS high, MIN(price) AS low, LAST(price) AS close, SUM(qty) AS volume
  FROM trades [RANGE 1 MINUTE] GROUP BY symbol;
CREATE QUERY candles_5m AS
  SELECT symbol, FIRST(price) AS open, MAX(price) AS high, MIN(price) AS low, LAST(price) AS close, SUM(qty) AS volume
  FROM trades [RANGE 5 MINUTES] GROUP BY symbol;
CREATE QUERY candles_15m AS
  SELECT symbol, FIRST(price) AS open, MAX(price) AS high, MIN(price) AS low, LAST(price) AS close, SUM(qty) AS volume
  FROM trades [RANGE 15 MINUTES] GROUP BY symbol;
CREATE QUERY candles_1m_rolling AS                     -- the last minute, drawn anew every five seconds
  SELECT symbol, FIRST(price) AS open, MAX(price) AS high, MIN(price) AS low, LAST(price) AS close
  FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY symbol;
CREATE QUERY candles_1m_mid AS                         -- minutes that begin at the half minute
  SELECT symbol, FIRST(price) AS open, MAX(price) AS high, MIN(price) AS low, LAST(price) AS close
  FROM trades [RANGE 1 MINUTE OFFSET 30 SECONDS] GROUP BY symbol;
CREATE QUERY candles_venue_1m AS
  SELECT symbol, venue, FIRST(price) AS open, MAX(price) AS high, MIN(price) AS low, LAST(price) AS close
  FROM trades [RANGE 1 MINUTE] GROUP BY symbol, venue;

-- Volume-weighted average prices, over the last ten seconds to the last hour.

CREATE QUERY vwap_10s AS
  SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap
  FROM trades [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY symbol;
CREATE QUERY vwap_30s AS
  SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap
  FROM trades [RANGE 30 SECONDS SLIDE 2 SECONDS] GROUP BY symbol;
CREATE QUERY vwap_1m AS
  SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap, COUNT(*) AS trades
  FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY symbol;
CREATE QUERY vwap_5m AS
  SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap, COUNT(*) AS trades
  FROM trades [RANGE 5 MINUTES SLIDE 10 SECONDS] GROUP BY symbol;
CREATE QUERY vwap_15m AS
  SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap, COUNT(*) AS trades
  FROM trades [RANGE 15 MINUTES SLIDE 15 SECONDS] GROUP BY symbol;
CREATE QUERY vwap_1h AS
  SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap, COUNT(*) AS trades
  FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY symbol;
CREATE QUERY vwap_5m_blocks AS                         -- what the large trades paid
  SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap, COUNT(*) AS trades
  FROM trades [RANGE 5 MINUTES SLIDE 10 SECONDS] WHERE qty >= 1000 GROUP BY symbol HAVING COUNT(*) >= 3;
CREATE QUERY vwap_5m_odd_lots AS                       -- and what the small ones paid
  SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap, COUNT(*) AS trades
  FROM trades [RANGE 5 MINUTES SLIDE 10 SECONDS] WHERE qty < 100 GROUP BY symbol;
CREATE QUERY vwap_1m_bought AS
  SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap
  FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] WHERE side = 'buy' GROUP BY symbol;
CREATE QUERY vwap_1m_sold AS
  SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap
  FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] WHERE side = 'sell' GROUP BY symbol;
CREATE QUERY vwap_venue_1m AS
  SELECT symbol, venue, SUM(price * qty) / SUM(qty) AS vwap
  FROM trades [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY symbol, venue;
CREATE QUERY vwap_venue_10m AS
  SELECT symbol, venue, SUM(price * qty) / SUM(qty) AS vwap, SUM(qty) AS volume
  FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY symbol, venue;
CREATE QUERY vwap_nyse_5m AS
  SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap
  FROM trades [RANGE 5 MINUTES SLIDE 15 SECONDS] WHERE venue = 'XNYS' GROUP BY symbol;

-- Plain averages. AVG shares the sums and counts that other queries need anyway.

CREATE QUERY average_10s AS
  SELECT symbol, AVG(price) AS average FROM trades [RANGE 10 SECONDS SLIDE 2 SECONDS] GROUP BY symbol;
CREATE QUERY average_1m AS
  SELECT symbol, AVG(price) AS average FROM trades [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY symbol;
CREATE QUERY average_5m AS
  SELECT symbol, AVG(price) AS average FROM trades [RANGE 5 MINUTES SLIDE 15 SECONDS] GROUP BY symbol;
CREATE QUERY average_30m AS
  SELECT symbol, AVG(price) AS average FROM trades [RANGE 30 MINUTES SLIDE 30 SECONDS] GROUP BY symbol;
CREATE QUERY average_1h AS
  SELECT symbol, AVG(price) AS average FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY symbol;
CREATE QUERY average_odd AS                            -- a range that is no multiple of its slide
  SELECT symbol, AVG(price) AS average FROM trades [RANGE 1 MINUTE SLIDE 7 SECONDS] GROUP BY symbol;
CREATE QUERY average_expensive_5m AS
  SELECT symbol, AVG(price) AS average, COUNT(*) AS trades
  FROM trades [RANGE 5 MINUTES SLIDE 30 SECONDS] WHERE price >= 100 GROUP BY symbol;
CREATE QUERY average_cheap_5m AS
  SELECT symbol, AVG(price) AS average, COUNT(*) AS trades
  FROM trades [RANGE 5 MINUTES SLIDE 30 SECONDS] WHERE price < 50 GROUP BY symbol;
CREATE QUERY average_size_1m AS
  SELECT symbol, AVG(qty) AS average_size FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY symbol;
CREATE QUERY average_size_side_1m AS
  SELECT side, AVG(qty) AS average_size FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY side;

-- Volume and turnover.

CREATE QUERY volume_1s AS
  SELECT symbol, SUM(qty) AS volume FROM trades [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY symbol;
CREATE QUERY volume_1m AS
  SELECT symbol, SUM(qty) AS volume, COUNT(*) AS trades FROM trades [RANGE 1 MINUTE SLIDE 2 SECONDS] GROUP BY symbol;
CREATE QUERY volume_10m AS
  SELECT symbol, SUM(qty) AS volume, COUNT(*) AS trades FROM trades [RANGE 10 MINUTES SLIDE 10 SECONDS] GROUP BY symbol;
CREATE QUERY volume_1h AS
  SELECT symbol, SUM(qty) AS volume, COUNT(*) AS trades FROM trades [RANGE 1 HOUR SLIDE 30 SECONDS] GROUP BY symbol;
CREATE QUERY volume_venue_30s AS
  SELECT venue, SUM(qty) AS volume FROM trades [RANGE 30 SECONDS SLIDE 1 SECOND] GROUP BY venue;
CREATE QUERY volume_venue_5m AS
  SELECT venue, SUM(qty) AS volume FROM trades [RANGE 5 MINUTES SLIDE 10 SECONDS] GROUP BY venue;
CREATE QUERY volume_venue_1h AS
  SELECT venue, SUM(qty) AS volume FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY venue;
CREATE QUERY volume_side_10s AS
  SELECT side, SUM(qty) AS volume FROM trades [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY side;
CREATE QUERY volume_side_5m AS
  SELECT side, SUM(qty) AS volume FROM trades [RANGE 5 MINUTES SLIDE 5 SECONDS] GROUP BY side;
CREATE QUERY volume_blocks_10m AS
  SELECT symbol, SUM(qty) AS volume, COUNT(*) AS trades
  FROM trades [RANGE 10 MINUTES SLIDE 15 SECONDS] WHERE qty >= 1000 GROUP BY symbol;
CREATE QUERY turnover_1m AS
  SELECT symbol, SUM(price * qty) AS turnover FROM trades [RANGE 1 MINUTE SLIDE 1 SECOND] GROUP BY symbol;
CREATE QUERY turnover_venue_1m AS
  SELECT venue, SUM(price * qty) AS turnover FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY venue;
CREATE QUERY turnover_venue_30m AS
  SELECT venue, SUM(price * qty) AS turnover FROM trades [RANGE 30 MINUTES SLIDE 1 MINUTE] GROUP BY venue;
CREATE QUERY turnover_matrix_5m AS
  SELECT symbol, venue, SUM(price * qty) AS turnover
  FROM trades [RANGE 5 MINUTES SLIDE 30 SECONDS] GROUP BY symbol, venue;
CREATE QUERY turnover_large_15m AS
  SELECT venue, SUM(price * qty) AS turnover, COUNT(*) AS trades
  FROM trades [RANGE 15 MINUTES SLIDE 30 SECONDS] WHERE price * qty >= 100000 GROUP BY venue;

-- The whole tape: no GROUP BY, one row per window. EMIT EMPTY answers quiet windows as well.

CREATE QUERY tape_10s AS
  SELECT COUNT(*) AS trades, SUM(qty) AS volume, SUM(price * qty) AS turnover
  FROM trades [RANGE 10 SECONDS SLIDE 1 SECOND] EMIT EMPTY;
CREATE QUERY tape_1m AS
  SELECT COUNT(*) AS trades, SUM(qty) AS volume, SUM(price * qty) AS turnover
  FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS];
CREATE QUERY tape_15m AS
  SELECT COUNT(*) AS trades, SUM(qty) AS volume, SUM(price * qty) AS turnover
  FROM trades [RANGE 15 MINUTES SLIDE 1 MINUTE];
CREATE QUERY tape_1h AS
  SELECT COUNT(*) AS trades, SUM(qty) AS volume, MIN(qty) AS smallest, MAX(qty) AS largest
  FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE];
CREATE QUERY tape_blocks_1m AS
  SELECT COUNT(*) AS trades, SUM(qty) AS volume
  FROM trades [RANGE 1 MINUTE SLIDE 2 SECONDS] WHERE qty >= 1000 EMIT EMPTY;
CREATE QUERY tape_rate AS                              -- trades per second, over odd windows
  SELECT COUNT(*) / 15 AS per_second FROM trades [RANGE 15 SECONDS SLIDE 7 SECONDS];
CREATE QUERY tape_sample AS                            -- a ten-second sample out of every minute
  SELECT COUNT(*) AS trades, AVG(price) AS average FROM trades [RANGE 10 SECONDS SLIDE 1 MINUTE];

-- Volatility.

CREATE QUERY volatility_1m AS
  SELECT symbol, STDDEV_SAMP(price) AS volatility FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY symbol;
CREATE QUERY volatility_5m AS
  SELECT symbol, STDDEV_SAMP(price) AS volatility, AVG(price) AS average
  FROM trades [RANGE 5 MINUTES SLIDE 15 SECONDS] GROUP BY symbol;
CREATE QUERY volatility_30m AS
  SELECT symbol, STDDEV_SAMP(price) AS volatility FROM trades [RANGE 30 MINUTES SLIDE 1 MINUTE] GROUP BY symbol;
CREATE QUERY volatility_relative_10m AS                -- comparable between dear and cheap symbols
  SELECT symbol, STDDEV_POP(price) / AVG(price) AS relative
  FROM trades [RANGE 10 MINUTES SLIDE 30 SECONDS] GROUP BY symbol HAVING COUNT(*) >= 10;
CREATE QUERY variance_venue_5m AS
  SELECT symbol, venue, VAR_POP(price) AS variance
  FROM trades [RANGE 5 MINUTES SLIDE 30 SECONDS] GROUP BY symbol, venue HAVING COUNT(*) > 5;
CREATE QUERY size_variance_5m AS
  SELECT venue, VAR_SAMP(qty) AS variance FROM trades [RANGE 5 MINUTES SLIDE 1 MINUTE] GROUP BY venue;

-- Spreads: how far apart the prices of a window are.

CREATE QUERY spread_10s AS
  SELECT symbol, MAX(price) - MIN(price) AS spread FROM trades [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY symbol;
CREATE QUERY spread_1m AS
  SELECT symbol, MAX(price) - MIN(price) AS spread FROM trades [RANGE 1 MINUTE SLIDE 2 SECONDS] GROUP BY symbol;
CREATE QUERY spread_1h AS
  SELECT symbol, MAX(price) - MIN(price) AS spread, MIN(price) AS low, MAX(price) AS high
  FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY symbol;
CREATE QUERY spread_percent_5m AS
  SELECT symbol, ROUND(100 * (MAX(price) - MIN(price)) / MIN(price), 2) AS percent
  FROM trades [RANGE 5 MINUTES SLIDE 10 SECONDS] GROUP BY symbol;
CREATE QUERY spread_sides_30s AS                       -- the dearest purchase against the cheapest sale
  SELECT symbol,
    MAX(price) FILTER (WHERE side = 'buy') - MIN(price) FILTER (WHERE side = 'sell') AS crossed
  FROM trades [RANGE 30 SECONDS SLIDE 5 SECONDS] GROUP BY symbol;
CREATE QUERY spread_venues_1m AS
  SELECT symbol, venue, MAX(price) - MIN(price) AS spread
  FROM trades [RANGE 1 MINUTE SLIDE 15 SECONDS] GROUP BY symbol, venue;

-- Order flow: who pushes, buyers or sellers.

CREATE QUERY imbalance_10s AS
  SELECT symbol,
    COALESCE(SUM(qty) FILTER (WHERE side = 'buy'), 0) - COALESCE(SUM(qty) FILTER (WHERE side = 'sell'), 0) AS net
  FROM trades [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY symbol;
CREATE QUERY imbalance_1m AS
  SELECT symbol,
    COALESCE(SUM(qty) FILTER (WHERE side = 'buy'), 0) - COALESCE(SUM(qty) FILTER (WHERE side = 'sell'), 0) AS net
  FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY symbol;
CREATE QUERY imbalance_ratio_5m AS
  SELECT symbol, COALESCE(SUM(qty) FILTER (WHERE side = 'buy'), 0) / SUM(qty) AS bought_share
  FROM trades [RANGE 5 MINUTES SLIDE 10 SECONDS] GROUP BY symbol;
CREATE QUERY imbalance_ratio_1h AS
  SELECT symbol, COALESCE(SUM(qty) FILTER (WHERE side = 'buy'), 0) / SUM(qty) AS bought_share
  FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY symbol;
CREATE QUERY imbalance_venue_1m AS
  SELECT venue, COUNT(*) FILTER (WHERE side = 'buy') AS purchases, COUNT(*) FILTER (WHERE side = 'sell') AS sales
  FROM trades [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY venue;
CREATE QUERY imbalance_blocks_10m AS
  SELECT symbol,
    COALESCE(SUM(qty) FILTER (WHERE side = 'buy'), 0) - COALESCE(SUM(qty) FILTER (WHERE side = 'sell'), 0) AS net, COUNT(*) AS blocks
  FROM trades [RANGE 10 MINUTES SLIDE 30 SECONDS] WHERE qty >= 1000 GROUP BY symbol;
CREATE QUERY one_sided AS                              -- everybody on the same side: worth a look
  SELECT symbol, MIN(side) AS side, COUNT(*) AS trades
  FROM trades [RANGE 10 SECONDS SLIDE 2 SECONDS] GROUP BY symbol HAVING MIN(side) = MAX(side) AND COUNT(*) >= 5;
CREATE QUERY buyers_only_1m AS
  SELECT symbol, COUNT(*) AS purchases, SUM(qty) AS bought, MAX(price) AS dearest
  FROM trades [RANGE 1 MINUTE SLIDE 10 SECONDS] WHERE side = 'buy' GROUP BY symbol;
CREATE QUERY sellers_only_1m AS
  SELECT symbol, COUNT(*) AS sales, SUM(qty) AS sold, MIN(price) AS cheapest
  FROM trades [RANGE 1 MINUTE SLIDE 10 SECONDS] WHERE side = 'sell' GROUP BY symbol;

-- Alerts: HAVING keeps only the windows worth a message.

CREATE QUERY surges AS                                 -- a symbol that trades as never
  SELECT symbol, COUNT(*) AS trades, SUM(qty) AS volume
  FROM trades [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY symbol HAVING COUNT(*) > 500;
CREATE QUERY jumps AS                                  -- more than half a percent within ten seconds
  SELECT symbol, FIRST(price) AS was, LAST(price) AS is_now, LAST(price) / FIRST(price) - 1 AS change
  FROM trades [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY symbol
  HAVING ABS(LAST(price) / FIRST(price) - 1) > 0.005;
CREATE QUERY falling AS                                -- at its low of five minutes, right now
  SELECT symbol, LAST(price) AS price
  FROM trades [RANGE 5 MINUTES SLIDE 5 SECONDS] GROUP BY symbol HAVING LAST(price) = MIN(price);
CREATE QUERY rising AS
  SELECT symbol, LAST(price) AS price
  FROM trades [RANGE 5 MINUTES SLIDE 5 SECONDS] GROUP BY symbol HAVING LAST(price) = MAX(price);
CREATE QUERY nervous AS
  SELECT symbol, STDDEV_SAMP(price) / AVG(price) AS relative
  FROM trades [RANGE 2 MINUTES SLIDE 5 SECONDS] GROUP BY symbol HAVING STDDEV_SAMP(price) > 0.01 * AVG(price);
CREATE QUERY block_clusters AS
  SELECT symbol, COUNT(*) AS blocks, SUM(qty) AS volume
  FROM trades [RANGE 30 SECONDS SLIDE 2 SECONDS] WHERE qty >= 1000 GROUP BY symbol HAVING COUNT(*) >= 5;
CREATE QUERY bought_blocks AS
  SELECT symbol, COUNT(*) AS blocks, SUM(price * qty) AS paid
  FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] WHERE side = 'buy' AND qty >= 1000 GROUP BY symbol HAVING COUNT(*) >= 3;
CREATE QUERY venue_silent AS                           -- hardly anything traded at a venue
  SELECT venue, COUNT(*) AS trades FROM trades [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY venue HAVING COUNT(*) < 100;
CREATE QUERY any_giant AS
  SELECT venue, BOOL_OR(qty >= 1990) AS giant, BOOL_AND(qty > 10) AS no_tiny_ones
  FROM trades [RANGE 30 SECONDS SLIDE 5 SECONDS] GROUP BY venue;

-- Rankings: ORDER BY and LIMIT hold per window.

CREATE QUERY top_volume AS
  SELECT symbol, SUM(qty) AS volume
  FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY symbol ORDER BY volume DESC LIMIT 10;
CREATE QUERY top_turnover AS
  SELECT symbol, SUM(price * qty) AS turnover
  FROM trades [RANGE 5 MINUTES SLIDE 10 SECONDS] GROUP BY symbol ORDER BY turnover DESC LIMIT 10;
CREATE QUERY top_movers AS
  SELECT symbol, LAST(price) / FIRST(price) - 1 AS change
  FROM trades [RANGE 15 MINUTES SLIDE 15 SECONDS] GROUP BY symbol
  ORDER BY ABS(LAST(price) / FIRST(price) - 1) DESC LIMIT 5;
CREATE QUERY top_volatile AS
  SELECT symbol, STDDEV_SAMP(price) AS volatility
  FROM trades [RANGE 10 MINUTES SLIDE 30 SECONDS] GROUP BY symbol ORDER BY volatility DESC LIMIT 5;
CREATE QUERY top_venue_per_block AS
  SELECT venue, COUNT(*) AS blocks
  FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE] WHERE qty >= 1000 GROUP BY venue ORDER BY blocks DESC LIMIT 1;
CREATE QUERY quietest AS
  SELECT symbol, COUNT(*) AS trades
  FROM trades [RANGE 1 MINUTE SLIDE 15 SECONDS] GROUP BY symbol ORDER BY trades LIMIT 5;

-- Best prices and where: MAX_BY and MIN_BY.

CREATE QUERY best_venue_1m AS
  SELECT symbol, MIN_BY(venue, price) AS cheapest_at, MAX_BY(venue, price) AS dearest_at
  FROM trades [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY symbol;
CREATE QUERY largest_trade_5m AS
  SELECT symbol, MAX(qty) AS qty, MAX_BY(price, qty) AS price, MAX_BY(venue, qty) AS venue
  FROM trades [RANGE 5 MINUTES SLIDE 30 SECONDS] GROUP BY symbol;
CREATE QUERY last_trade AS
  SELECT symbol, venue, LAST(price) AS price, LAST(qty) AS qty, MAX(ts) AS at
  FROM trades [RANGE 30 SECONDS SLIDE 5 SECONDS] GROUP BY symbol, venue;

-- Distinct counts, exact and estimated, and percentiles.

CREATE QUERY active_symbols_10s AS
  SELECT COUNT(DISTINCT symbol) AS symbols FROM trades [RANGE 10 SECONDS SLIDE 5 SECONDS];
CREATE QUERY active_symbols_venue_1m AS
  SELECT venue, COUNT(DISTINCT symbol) AS symbols FROM trades [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY venue;
CREATE QUERY venues_per_symbol_5m AS
  SELECT symbol, COUNT(DISTINCT venue) AS venues FROM trades [RANGE 5 MINUTES SLIDE 30 SECONDS] GROUP BY symbol;
CREATE QUERY distinct_sizes_10m AS
  SELECT venue, APPROX_COUNT_DISTINCT(qty) AS sizes FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY venue;
CREATE QUERY size_percentiles_5m AS
  SELECT venue, APPROX_PERCENTILE(qty, ARRAY(0.5, 0.95, 0.99)) AS sizes
  FROM trades [RANGE 5 MINUTES SLIDE 30 SECONDS] GROUP BY venue;
CREATE QUERY median_size_1h AS
  SELECT APPROX_PERCENTILE(qty, 0.5) AS median FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE];

-- By what the generator does not give: expressions as keys and as filters.

CREATE QUERY by_size_class_1m AS
  SELECT CASE WHEN qty >= 1000 THEN 'block' WHEN qty >= 100 THEN 'round' ELSE 'odd' END AS size, COUNT(*) AS trades
  FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY size;
CREATE QUERY listed_pairs_5m AS
  SELECT venue, side, SUM(qty) AS volume
  FROM trades [RANGE 5 MINUTES SLIDE 15 SECONDS] WHERE venue IN ('XNYS', 'XNAS') GROUP BY venue, side;
CREATE QUERY round_lots_10m AS
  SELECT symbol, COUNT(price) AS prices, AVG(price) AS average
  FROM trades [RANGE 10 MINUTES SLIDE 30 SECONDS] WHERE qty >= 100 AND qty % 100 = 0 GROUP BY symbol;

-- Standing filters: no window, every row that passes, with the batch that brings it.

CREATE QUERY block_tape AS
  SELECT ts, symbol, side, qty, price, ROUND(price * qty, 2) AS notional FROM trades WHERE qty >= 1900;
CREATE QUERY nyse_penny_tape AS
  SELECT ts, symbol, qty, price FROM trades WHERE venue = 'XNYS' AND price < 10;
