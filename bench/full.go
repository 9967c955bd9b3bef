package main

func full(*bench) error { return nil }
