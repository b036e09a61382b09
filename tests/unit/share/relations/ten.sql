CREATE STREAM sent (id STRING, kind STRING, size BIGINT, at TIMESTAMP)
  TIMESTAMP BY at DELAY 2 SECONDS FROM parquet OPTIONS ('path' = 'landing/sent');
CREATE STREAM acks (id STRING, code BIGINT, at TIMESTAMP)
  TIMESTAMP BY at DELAY 2 SECONDS FROM parquet OPTIONS ('path' = 'landing/acks');
CREATE STREAM drops (id STRING, why STRING, at TIMESTAMP)
  TIMESTAMP BY at DELAY 2 SECONDS FROM parquet OPTIONS ('path' = 'landing/drops');
CREATE QUERY quick AS
  SELECT s.id, a.code FROM sent [RANGE 1 MINUTE] s JOIN acks [RANGE 1 MINUTE] a ON s.id = a.id;
CREATE QUERY slow AS
  SELECT s.id, s.size FROM sent [RANGE 1 HOUR] s JOIN acks [RANGE 1 HOUR] a ON s.id = a.id WHERE s.size > 100;
CREATE QUERY refused AS
  SELECT s.id, a.code FROM sent [RANGE 10 SECONDS] s JOIN acks [RANGE 1 HOUR] a ON s.id = a.id WHERE a.code > 7;
CREATE QUERY rates AS
  SELECT s.kind, COUNT(*) AS n FROM sent [RANGE 1 MINUTE SLIDE 10 SECONDS] s
  JOIN acks [RANGE 1 MINUTE SLIDE 10 SECONDS] a ON s.id = a.id GROUP BY s.kind;
CREATE QUERY all_three AS
  SELECT s.id, d.why FROM sent [RANGE 1 MINUTE] s JOIN acks [RANGE 1 MINUTE] a ON s.id = a.id JOIN drops [RANGE 30 SECONDS] d ON s.id = d.id;
CREATE QUERY kinds AS
  SELECT DISTINCT kind FROM sent [RANGE 1 MINUTE];
CREATE QUERY missing AS
  SELECT id FROM sent [RANGE 1 MINUTE] EXCEPT SELECT id FROM acks [RANGE 1 MINUTE];
CREATE QUERY unheard AS
  SELECT id, size FROM sent [RANGE 1 MINUTE] s WHERE NOT EXISTS (SELECT 1 FROM acks [RANGE 1 MINUTE] a WHERE a.id = s.id);
CREATE QUERY either AS
  SELECT s.id, a.code FROM sent [RANGE 1 MINUTE] s LEFT JOIN acks [RANGE 1 MINUTE] a ON s.id = a.id;
CREATE QUERY news AS
  SELECT ISTREAM(kind) FROM (SELECT DISTINCT kind FROM sent [RANGE 1 MINUTE]) x;
