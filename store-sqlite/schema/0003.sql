-- The events of one commit are one row: their bytes one after another, under the place of the last. Where
-- they are several, `sizes` holds how long each is, as JSON.
ALTER TABLE event ADD COLUMN sizes TEXT;
