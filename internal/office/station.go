package office

import (
	"github.com/postroom/postroom/internal/config"
	"github.com/postroom/postroom/internal/mail"
	"github.com/postroom/postroom/internal/policy"
	"github.com/postroom/postroom/internal/registry"
	"github.com/postroom/postroom/internal/spool"
	"github.com/postroom/postroom/internal/vfs"
)

// Station is the office's own name on the link; "" if it is not linked. A
// process that lives on sees within recheck when that changes.
func (o *Office) Station() string {
	if s := o.station.Load(); s != nil {
		return *s
	}
	return o.Config.Station // an office that was not opened, in a test
}

// SetStation gives the office its name on the link, or with "" takes it away,
// durably. Nothing else in postroom.toml changes. The caller holds the lease.
func (o *Office) SetStation(name string) error {
	if name != "" {
		if _, err := mail.ParseStation(name); err != nil {
			return err
		}
	}
	fail := func(err error) error {
		return &mail.Error{Op: "name station", Kind: mail.KindStore, Addr: o.FS.Path(config.OfficeFile), Err: err, Hint: `run "post doctor"`}
	}
	data, _, err := spool.ReadFile(o.FS, config.OfficeFile, 64<<10)
	if err != nil {
		return fail(err)
	}
	if data, err = config.SetStation(data, name); err != nil {
		return err
	}
	if err = spool.Replace(o.FS, ".", config.OfficeFile, data); err == nil {
		err = o.FS.SyncDir(".")
	}
	if err != nil {
		return fail(err)
	}
	o.Config.Station = name
	o.station.Store(&name)
	return nil
}

// Canonical is an address as a message keeps it, see policy.Canonical.
func (o *Office) Canonical(reg *registry.Registry, s string) string {
	return policy.Canonical(s, policy.World{Settings: o.Settings(), Directory: reg})
}

// CanonicalAll is Canonical for a list.
func (o *Office) CanonicalAll(reg *registry.Registry, list []string) []string {
	if o.Station() == "" {
		return list
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = o.Canonical(reg, s)
	}
	return out
}

// rereadStation looks whether the office was linked or unlinked since. o.mu is
// held. What can't be read now is asked for again.
func (o *Office) rereadStation() {
	fi, err := o.FS.Lstat(config.OfficeFile)
	if err != nil || o.fileIs != nil && vfs.SameFile(fi, o.fileIs) && fi.Size() == o.fileIs.Size() && fi.ModTime().Equal(o.fileIs.ModTime()) {
		return
	}
	data, fi, err := spool.ReadFile(o.FS, config.OfficeFile, 64<<10)
	if err != nil {
		return
	}
	if cfg, err := config.DecodeOffice(data); err == nil {
		o.station.Store(&cfg.Station)
		o.fileIs = fi
	}
}
